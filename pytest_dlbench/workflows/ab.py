"""An A/B of one case: pairs are run until every metric is decided, twice over for what the first pass did not clear."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from pytest_dlbench import judging
from pytest_dlbench.judging import multiple_testing
from pytest_dlbench.judging.accuracy import COUNTED_RUNS, Divergences
from pytest_dlbench.judging.metrics import of_purpose
from pytest_dlbench.judging.pairs import paired_tolerances
from pytest_dlbench.judging.reasons import unfinished
from pytest_dlbench.judging.two_stage import Found, Terms, judge, narrow, terms_of
from pytest_dlbench.planning.plan import REPEATS
from pytest_dlbench.records import CaseOutcome, CaseResult, Pairing, Record, Run, RunOutcome
from pytest_dlbench.records.reasons import Diverged, Repeat, ToleranceTooTightError
from pytest_dlbench.running import devices
from pytest_dlbench.running.pairs import InvalidError, Pairs, UnfinishedError
from pytest_dlbench.running.run_spec import RunSpec
from pytest_dlbench.workflows import reasons
from pytest_dlbench.workflows.profile import profiled
from pytest_dlbench.workflows.recording import calibrated_spreads, conclude, record_of, reference_runs
from pytest_dlbench.workflows.runs import next_of, pairs_of
from pytest_dlbench.workflows.session import Session


def train(
    session: Session, old: RunSpec, new: RunSpec, node: str, tolerance: Mapping[str, float]
) -> tuple[Record, CaseResult]:
    """Run a case on both sides and judge the new one; ``node`` is the test's id, for the suggested commands."""
    session.claims.claim(new, node)
    terms = _terms(session, old, new, tolerance)
    pairs = pairs_of(session, old, new, min(terms.max_pairs, multiple_testing.SCREENING_PAIRS))
    with pairs.alone():
        record, result = _concluded(session, pairs, terms, node)
    if session.policy.profiles and result.outcome is CaseOutcome.REGRESSED and new.purpose == "training":
        result = profiled(session, old, new, result)
    conclude(session, record, result)
    return record, result


def _concluded(session: Session, pairs: Pairs, terms: Terms, node: str) -> tuple[Record, CaseResult]:
    """Pairs until all is decided or the case's share of the time is spent, and what comes of them."""
    # Only now: the time that a case waits for its device is not charged to its share.
    has_time = session.time.share(node, devices.places(pairs.new.case.device))
    try:
        found = judge(lambda: next_of(pairs), terms, session.false_alarms.next_level, has_time)
    except UnfinishedError as error:
        record = record_of(session, pairs.new, pairs.runs["new"] or [error.run])
        counted = (_divergences(pairs),) if error.run.outcome is RunOutcome.DIVERGED else ()
        return record, _unfinished(record, error.run, pairs.old, pairs.new, counted)
    except InvalidError as error:
        record = record_of(session, pairs.new, [*pairs.runs["new"], error.pair["new"]])
        return record, _invalid(record, error)
    record = record_of(session, pairs.new, pairs.runs["new"])
    pairing = _pairing(pairs.old, found, pairs, terms)
    again = Repeat(node=node, flags=session.repeat_flags)
    result = _judged(record, pairing, found, pairs.runs, again)
    if smallest := narrow(terms):
        result = replace(result, cautions=(*result.cautions, reasons.too_tight_for_pairs(terms, smallest)))
    return record, result


def _terms(session: Session, old: RunSpec, new: RunSpec, tolerance: Mapping[str, float]) -> Terms:
    """The terms of a case; raises ToleranceTooTightError for a tolerance that its pairs cannot judge."""
    metrics = session.settings.metrics
    asked = of_purpose(tolerance, new.purpose, metrics)
    calibrated, reference = calibrated_spreads(session, old, new), reference_runs(session, old)
    terms = terms_of(paired_tolerances(asked), session.policy.max_pairs, reference, metrics, calibrated)
    # What nobody asked for is reported, and judged as well as that goes; so is everything where that is all.
    typed = {} if session.policy.is_report_only else judging.asked_for(asked, metrics)
    if refused := {name: least for name, least in narrow(terms).items() if name in typed}:
        raise ToleranceTooTightError(new.case.id, reasons.too_tight_for_pairs(terms, refused))
    return terms


def _divergences(pairs: Pairs) -> Diverged:
    """How many runs of either side diverge, and how often chance alone would have it so."""
    seen = pairs.count(COUNTED_RUNS)
    sides = [[run.outcome is RunOutcome.DIVERGED for run in seen[name]] for name in ("old", "new")]
    old, new = (Divergences(runs=len(side), diverged=sum(side)) for side in sides)
    return reasons.diverged(old, new)


def _unfinished(record: Record, run: Run, old: RunSpec, new: RunSpec, counted: tuple[Diverged, ...]) -> CaseResult:
    outcome = judging.of_runs([run])
    assert outcome is not None
    is_old = run.case == old.case.id
    framework = (old if is_old else new).framework.name
    reason = unfinished(run, "baseline" if is_old else "candidate", framework)
    return CaseResult(
        case=record.case,
        outcome=outcome,
        reasons=(reason, *counted),
        runs=len(record.runs),
        figures=judging.summarise(record.runs),
    )


def _invalid(record: Record, error: InvalidError) -> CaseResult:
    return CaseResult(
        case=record.case,
        outcome=CaseOutcome.INVALID,
        reasons=(reasons.invalid_pair(error, REPEATS),),
        runs=len(record.runs),
        figures=judging.summarise(record.runs),
    )


def _pairing(old: RunSpec, found: Found, pairs: Pairs, terms: Terms) -> Pairing:
    return Pairing(
        old=old.case,
        screened=len(found.screened),
        confirmed=len(found.confirmed),
        alpha=found.alpha,
        new_first=tuple(pairs.new_first),
        reasons={name: decision.reason.value for name, decision in found.decisions.items()},
        spreads={name: terms.spreads[name] for name in found.decisions},
        reference_runs=terms.reference_runs,
    )


def _judged(
    record: Record, pairing: Pairing, found: Found, runs: Mapping[str, Sequence[Run]], again: Repeat
) -> CaseResult:
    return CaseResult(
        case=record.case,
        outcome=judging.of_verdicts(found.verdicts),
        reasons=(reasons.paired(found, runs["old"], runs["new"], again),),
        runs=len(record.runs),
        figures=judging.summarise(record.runs),
        verdicts=found.verdicts,
        cautions=(*judging.disturbances([*runs["old"], *runs["new"]]), *judging.censored(runs["new"])),
        certificate=record.certificate,
        steps=record.context.steps,
        recipe_steps=record.context.recipe_steps,
        pairing=pairing,
    )
