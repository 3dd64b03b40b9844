"""An A/B test of one case: pairs until every metric is decided, fresh ones to confirm a change."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial

from pytest_dlbench import judging
from pytest_dlbench.judging import counts, kernels
from pytest_dlbench.judging.accuracy import COUNTED_RUNS, Divergences
from pytest_dlbench.judging.metrics import of_purpose
from pytest_dlbench.judging.pairs import design_of, disagreements, per_example
from pytest_dlbench.judging.reasons import unfinished, unlikely
from pytest_dlbench.judging.terms import Terms, narrow, terms_of
from pytest_dlbench.judging.two_stage import Found, judge
from pytest_dlbench.planning.plan import REPEATS
from pytest_dlbench.records import CaseOutcome, CaseResult, Pairing, Record, Run, RunOutcome
from pytest_dlbench.records.reasons import CountChange, Diverged, KernelsChanged, Paired, Repeat, ToleranceTooTightError
from pytest_dlbench.running import devices
from pytest_dlbench.running.pairs import BASELINE, CANDIDATE, InvalidError, Pairs, UnfinishedError
from pytest_dlbench.running.run_spec import RunSpec
from pytest_dlbench.workflows import reasons
from pytest_dlbench.workflows.lengths import decided_pair
from pytest_dlbench.workflows.profile import profiled
from pytest_dlbench.workflows.recording import (
    calibrated_spreads,
    conclude,
    kept_if_interrupted,
    record_of,
    reference_runs,
    step_spread,
)
from pytest_dlbench.workflows.runs import next_of, pairs_of
from pytest_dlbench.workflows.session import Session


def train(
    session: Session, baseline: RunSpec, candidate: RunSpec, node: str, tolerance: Mapping[str, float]
) -> tuple[Record, CaseResult]:
    """Run a case on both sides and judge the candidate; ``node`` is the test's id, for the suggested commands."""
    session.claims.claim(candidate, node)
    baseline, candidate = decided_pair(session, baseline, candidate)
    terms = replace(_terms(session, baseline, candidate, tolerance), at_once=session.false_alarms.at_once(node))
    pairs = pairs_of(session, baseline, candidate, terms.max_pairs)
    with kept_if_interrupted(session, candidate, lambda: pairs.counted[CANDIDATE]), pairs.alone():
        record, result = _concluded(session, pairs, terms, node)
    if session.policy.profiles and result.outcome is CaseOutcome.REGRESSED:
        try:
            result = profiled(session, baseline, candidate, result)
        except KeyboardInterrupt:
            conclude(session, record, result, pairs.runs[BASELINE])
            raise
    conclude(session, record, result, pairs.runs[BASELINE])
    return record, result


def _concluded(session: Session, pairs: Pairs, terms: Terms, node: str) -> tuple[Record, CaseResult]:
    """Run pairs until everything is decided or the case's share of the time is spent, and judge them."""
    # Started only now: the time that a case waits for its device is not charged to its share.
    case, find_gpus = pairs.candidate.case, partial(devices.gpus, pairs.candidate.gpu_numbers)
    has_time = session.time.share(node, devices.places(case.device, find_gpus))
    try:
        levels = session.false_alarms.levels(node)
        found = judge(lambda: next_of(pairs), terms, levels, has_time, pairs.begin_pass)
    except UnfinishedError as error:
        record = record_of(session, pairs.candidate, pairs.runs[CANDIDATE] or [error.run])
        counted = (_divergences(pairs),) if error.run.outcome is RunOutcome.DIVERGED else ()
        return record, _unfinished(record, error.run, pairs.baseline, pairs.candidate, counted)
    except InvalidError as error:
        record = record_of(session, pairs.candidate, [*pairs.runs[CANDIDATE], error.pair[CANDIDATE]])
        return record, _invalid(record, error)
    record = record_of(session, pairs.candidate, pairs.runs[CANDIDATE])
    pairing = _pairing(pairs.baseline, found, pairs, terms)
    again = Repeat(node=node, flags=session.repeat_flags)
    work = pairs.baseline.work, pairs.candidate.work
    result = _judged(record, pairing, found, pairs.runs, reasons.paired(found, terms, pairs.runs, work, again))
    cautions = (
        *([pairs.sequential] if pairs.sequential and pairs.sequential.is_unforeseen else []),
        *disagreements(found.verdicts, terms.metrics),
        *reasons.cautions_of_pairs(found, terms),
        *reasons.left_out(pairs.baseline.framework, pairs.candidate.framework),
        *reasons.of_workers(pairs.candidate),
        *reasons.of_breakdown(session.settings, pairs.candidate),
    )
    result = replace(
        result,
        reasons=(*unlikely(found.verdicts, terms.metrics), *result.reasons),
        cautions=(*result.cautions, *cautions),
    )
    result = counts.with_changes(result, _counts_changed(pairs, terms))
    return record, kernels.with_change(result, _kernels_changed(pairs))


def _counts_changed(pairs: Pairs, terms: Terms) -> tuple[CountChange, ...]:
    """The counts that differ between the two sides; none if these are of frameworks that count different things."""
    one, other = pairs.baseline.framework, pairs.candidate.framework
    if (one.package, one.variables) != (other.package, other.variables):
        return ()
    return counts.changes(*(counts.of_runs(pairs.runs[side], terms.metrics) for side in (BASELINE, CANDIDATE)))


def _kernels_changed(pairs: Pairs) -> KernelsChanged | None:
    """How the kernels of recurrent layers differ; another framework has other names for the same kinds."""
    are_named_alike = pairs.baseline.framework.package == pairs.candidate.framework.package
    old, new = (kernels.of_runs(pairs.runs[side]) for side in (BASELINE, CANDIDATE))
    return kernels.change(old, new, are_named_alike=are_named_alike)


def _terms(session: Session, baseline: RunSpec, candidate: RunSpec, tolerance: Mapping[str, float]) -> Terms:
    """The terms of a case; raises ToleranceTooTightError for a tolerance that its pairs cannot resolve."""
    metrics = session.settings.metrics
    asked = of_purpose(tolerance, candidate.purpose, metrics)
    calibrated, reference = calibrated_spreads(session, baseline, candidate), reference_runs(session, baseline)
    requested = judging.asked_for(asked, metrics)
    if baseline.batch_size != candidate.batch_size:
        asked, requested = per_example(asked), per_example(requested)
    defaults = frozenset(asked) - frozenset(requested)
    steps = step_spread(session, baseline, candidate)
    terms = terms_of(asked, session.policy.max_pairs, reference, metrics, calibrated, defaults=defaults, steps=steps)
    # Default tolerances that are too tight are only reported, and so are all of them in report-only mode.
    refused = {name: least for name, least in narrow(terms).items() if name in requested}
    if refused and not session.policy.is_report_only:
        raise ToleranceTooTightError(candidate.case.id, reasons.too_tight_for_pairs(terms, refused))
    return terms


def _divergences(pairs: Pairs) -> Diverged:
    """How many runs of each side diverge, and the probability of that by chance."""
    counted = pairs.count(COUNTED_RUNS)
    sides = [[run.outcome is RunOutcome.DIVERGED for run in counted[name]] for name in (BASELINE, CANDIDATE)]
    baseline, candidate = (Divergences(runs=len(side), diverged=sum(side)) for side in sides)
    return reasons.diverged(baseline, candidate)


def _unfinished(
    record: Record, run: Run, baseline: RunSpec, candidate: RunSpec, counted: tuple[Diverged, ...]
) -> CaseResult:
    outcome = judging.of_runs([run])
    assert outcome is not None
    is_baseline = run.case == baseline.case.id
    framework = (baseline if is_baseline else candidate).framework.name
    reason = unfinished(run, "baseline" if is_baseline else "candidate", framework)
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


def _pairing(baseline: RunSpec, found: Found, pairs: Pairs, terms: Terms) -> Pairing:
    return Pairing(
        old=baseline.case,
        screened=len(found.screened),
        confirmed=len(found.confirmed),
        alpha=found.alpha,
        new_first=tuple(pairs.candidate_first),
        reasons={name: decision.reason for name, decision in found.decisions.items()},
        spreads={name: terms.spread(name) for name in found.decisions},
        reference_runs=terms.reference_runs,
        is_aa=pairs.is_aa,
        order_seed=pairs.order_seed,
        design=design_of([*found.screened, *found.confirmed]),
        step_pairs=terms.step_pairs,
    )


def _judged(
    record: Record, pairing: Pairing, found: Found, runs: Mapping[str, Sequence[Run]], reason: Paired
) -> CaseResult:
    both = [*runs[BASELINE], *runs[CANDIDATE]]
    return CaseResult(
        case=record.case,
        outcome=judging.with_validity(judging.of_verdicts(found.verdicts), both),
        reasons=(reason,),
        runs=len(record.runs),
        figures=judging.summarise(record.runs),
        verdicts=found.verdicts,
        cautions=(*judging.disturbances(both), *judging.censored(runs[CANDIDATE])),
        certificate=record.certificate,
        steps=record.context.steps,
        recipe_steps=record.context.recipe_steps,
        pairing=pairing,
        recurrent_kernels=kernels.of_runs(record.runs),
    )
