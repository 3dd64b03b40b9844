"""Runs a case n times, compares it with its stored baseline, and saves it there on request."""

from collections.abc import Mapping
from dataclasses import replace

from pytest_dlbench import judging
from pytest_dlbench.judging import Metrics, absolute
from pytest_dlbench.judging.accuracy import COUNTED_RUNS, Divergences
from pytest_dlbench.judging.reasons import invalid, unfinished
from pytest_dlbench.planning.plan import REPEATS
from pytest_dlbench.records import CaseOutcome, CaseResult, Record, Run, RunOutcome
from pytest_dlbench.records.reasons import (
    Diverged,
    NotSaved,
    ToleranceTooTightError,
    TooGood,
)
from pytest_dlbench.running.interrupts import undisturbed
from pytest_dlbench.running.run_spec import RunSpec
from pytest_dlbench.workflows import reasons
from pytest_dlbench.workflows.baseline_gate import result
from pytest_dlbench.workflows.lengths import decided
from pytest_dlbench.workflows.recording import calibrated_spreads, conclude, kept_if_interrupted, record_of
from pytest_dlbench.workflows.runs import make_runs
from pytest_dlbench.workflows.session import Session

# Outcomes that show whether a training diverges.
COUNTED = (RunOutcome.FINISHED, RunOutcome.DIVERGED)
# Outcomes of cases with sound figures: saving them accepts every change.
SAVED = frozenset(
    {
        CaseOutcome.PASSED,
        CaseOutcome.REGRESSED,
        CaseOutcome.SUSPECT,
        CaseOutcome.IMPROVED,
        CaseOutcome.INCONCLUSIVE,
        CaseOutcome.NO_BASELINE,
        CaseOutcome.INCOMPARABLE,
    }
)


def train(session: Session, spec: RunSpec, node: str, tolerance: Mapping[str, float]) -> tuple[Record, CaseResult]:
    """Run a case and judge it. ``node`` is the test's id, for the suggested commands.

    A case that is to be saved waits for the end of its test, and passes until then.
    """
    session.claims.claim(spec, node)
    spec = decided(session, spec)
    narrow = _narrow(session, spec, tolerance)
    made: list[Run] = []
    with kept_if_interrupted(session, spec, lambda: made, session.settings.runs):
        runs = make_runs(session, spec, session.settings.runs, session.settings.repeats, made=made)
        record = record_of(session, spec, _counted(session, spec, runs))
        judged = _judge(session, record, spec, node, tolerance)
        cautions = (*reasons.of_workers(spec), *reasons.of_breakdown(session.settings, spec))
        if narrow:
            cautions = (*cautions, reasons.too_tight_for_sessions(tolerance, narrow))
    # An interrupt comes before or after it: the journal has no runs without a result.
    with undisturbed():
        return record, _settled(session, record, replace(judged, cautions=(*judged.cautions, *cautions)), node)


def _settled(session: Session, record: Record, judged: CaseResult, node: str) -> CaseResult:
    """The result as it is reported, in the journal; one that is to be saved waits for that."""
    if session.policy.saves and judged.outcome in SAVED:
        if session.policy.accepts_gains or not _gains(judged):
            session.unsaved.setdefault(node, []).append((record, judged))
            return replace(judged, outcome=judging.with_validity(CaseOutcome.PASSED, record.runs))
        judged = replace(judged, reasons=(NotSaved(cause="too_good"), *judged.reasons))
    judged = replace(judged, outcome=judging.with_validity(judged.outcome, record.runs))
    conclude(session, record, judged)
    return judged


def _gains(judged: CaseResult) -> bool:
    return any(isinstance(reason, TooGood) for reason in judged.reasons)


def _counted(session: Session, spec: RunSpec, runs: tuple[Run, ...]) -> tuple[Run, ...]:
    """The runs. If one diverged but no stored run did, runs are added until the divergence rates can be compared."""
    if runs[-1].outcome is RunOutcome.DIVERGED and _stored_runs(session, spec):
        while len(runs) < COUNTED_RUNS and runs[-1].outcome in COUNTED:
            runs += make_runs(session, spec, 1, first=len(runs))
    return runs


def _stored_runs(session: Session, spec: RunSpec) -> int:
    return session.comparer.stored_runs(spec.case, session.settings.context(spec))


def _divergences(session: Session, record: Record) -> tuple[Diverged, ...]:
    """How many runs diverged, and the probability of that by chance; empty without stored runs."""
    counted = [run for run in record.runs if run.outcome in COUNTED]
    candidate = Divergences(runs=len(counted), diverged=sum(run.outcome is RunOutcome.DIVERGED for run in counted))
    baseline = Divergences(runs=session.comparer.stored_runs(record.case, record.context), diverged=0)
    if not baseline.runs or not candidate.diverged:
        return ()
    return (reasons.diverged(baseline, candidate),)


def _narrow(session: Session, spec: RunSpec, tolerance: Mapping[str, float]) -> Mapping[str, float]:
    """Tolerances that are too tight for the baseline; raises ToleranceTooTightError for those that the user set.

    When saving or in report-only mode, nothing can fail, and these are returned as well.
    """
    context, calibrated = session.settings.context(spec), calibrated_spreads(session, spec)
    narrow = session.comparer.narrow(spec.case, context, tolerance, calibrated, session.settings.runs)
    refused = {
        name: least for name, least in narrow.items() if name in judging.asked_for(tolerance, session.settings.metrics)
    }
    if refused and not session.policy.saves and not session.policy.is_report_only:
        raise ToleranceTooTightError(spec.case.id, reasons.too_tight_for_sessions(tolerance, refused))
    return narrow


def _judge(session: Session, record: Record, spec: RunSpec, node: str, tolerance: Mapping[str, float]) -> CaseResult:
    if found := unjudged(session, record):
        if found.outcome is CaseOutcome.INVALID:
            # A busy machine changes no accuracy.
            return session.comparer.with_portable(found, record, tolerance)
        return replace(found, reasons=(*found.reasons, *_divergences(session, record)))
    compared = session.comparer.compare(record, spec.framework, node, tolerance)
    return with_absolute(record, compared, tolerance, session.settings.metrics)


def unjudged(session: Session, record: Record) -> CaseResult | None:
    """The result of a case whose runs cannot be judged: one did not finish, or one is invalid."""
    if outcome := judging.of_runs(record.runs):
        failed = next(run for run in record.runs if run.outcome is not RunOutcome.FINISHED)
        return result(record, outcome, unfinished(failed))
    if not session.settings.keeps_invalid and any(run.invalid for run in record.runs):
        return result(record, CaseOutcome.INVALID, invalid({"": record.runs}, REPEATS))
    return None


def with_absolute(
    record: Record, compared: CaseResult, tolerances: Mapping[str, float], metrics: Metrics
) -> CaseResult:
    """The result with the verdicts on absolute metrics, which need no baseline and override its outcome."""
    own = absolute.judge(compared.outcome, record.runs, tolerances, metrics)
    verdicts, because = (*compared.verdicts, *own.verdicts), (*own.exceeding, *compared.reasons, *own.unshown)
    return replace(compared, outcome=own.outcome, verdicts=verdicts, reasons=because)
