"""Builds the reasons for the verdicts of a case from its two sides."""

import os
from collections.abc import Mapping, Sequence
from math import isfinite
from pathlib import Path
from typing import Any

from pytest_dlbench import judging
from pytest_dlbench.environments import Framework
from pytest_dlbench.judging import Metrics
from pytest_dlbench.judging.accuracy import Divergences, compare_times, more_divergences
from pytest_dlbench.judging.pairs import stall
from pytest_dlbench.judging.phases import growths
from pytest_dlbench.judging.reasons import invalid, tight
from pytest_dlbench.judging.terms import Terms, narrow
from pytest_dlbench.judging.two_stage import Found
from pytest_dlbench.judging.undecided import too_variable, undecided
from pytest_dlbench.planning.plan import RunSettings
from pytest_dlbench.planning.workers import unlike_one
from pytest_dlbench.records import Baseline, Record, Run, VerdictOutcome
from pytest_dlbench.records.reasons import (
    Caution,
    Compared,
    Diverged,
    InPairs,
    Invalid,
    LeftOut,
    MedianRegressed,
    MoveReference,
    Paired,
    PhaseChange,
    Reference,
    Repeat,
    TimeToTarget,
    ToleranceTooTight,
    UndecidedSessions,
    Undivided,
)
from pytest_dlbench.running.pairs import BASELINE, CANDIDATE, InvalidError
from pytest_dlbench.running.run_spec import NetworkSpec, RunSpec, kind, trains_network


def compared(
    baseline: Baseline,
    record: Record,
    folder: Path,
    again: Repeat,
    *,
    pairs: InPairs | None = None,
    undecided: tuple[UndecidedSessions, ...] = (),
) -> Compared:
    """The comparison of a session with its baseline in ``folder``; ``pairs`` if they should settle it."""
    newest = baseline.sessions[-1]
    return Compared(
        saved=newest.saved,
        why=newest.reason,
        sessions=len(baseline.sessions),
        versions=judging.changes(newest.versions, record.runs[0].versions),
        recipe=judging.changes(baseline.recipe, record.recipe),
        reference=_reference(baseline, folder),
        again=again,
        pairs=pairs,
        undecided=undecided,
    )


def _reference(baseline: Baseline, folder: Path) -> Reference:
    session = next(session for session in baseline.sessions if session.id == baseline.anchor)
    return Reference(saved=session.saved, why=session.reason, move=MoveReference(baselines=os.path.relpath(folder)))


def in_pairs(
    baseline: Baseline, record: Record, framework: Framework, tolerances: Mapping[str, float], metrics: Metrics
) -> InPairs:
    """The pairs that would settle a suspicion, with the two versions if they are known and differ."""
    then, now = (
        versions.get(framework.package, "").partition("+")[0]
        for versions in (baseline.sessions[-1].versions, record.runs[0].versions)
    )
    is_released = then and now and then != now and framework.environments
    typed = {name: tolerance for name, tolerance in tolerances.items() if tolerance != metrics[name].tolerance}
    return InPairs(
        framework=framework.plain_name,
        versions=(then, now) if is_released else None,
        tolerances=typed,
        is_of_program=record.program is not None,
    )


def paired(
    found: Found,
    terms: Terms,
    runs: Mapping[str, Sequence[Run]],
    work: tuple[Mapping[str, Any], Mapping[str, Any]],
    again: Repeat,
) -> Paired:
    """Which phases changed, how the two sides differ, what is reported but not judged, and what would decide more."""
    baseline, candidate = runs[BASELINE], runs[CANDIDATE]
    phases = [PhaseChange(phase=one.phase, baseline=one.old, candidate=one.new) for one in growths(baseline, candidate)]
    return Paired(
        phases=tuple(phases),
        versions=(*judging.changes(baseline[0].versions, candidate[0].versions), *judging.changes(*work)),
        stall=stall(found.decisions),
        undecided=undecided(found, terms),
        time_to_target=_time_to_target(baseline, candidate),
        again=again,
    )


def left_out(*sides: Framework) -> tuple[LeftOut, ...]:
    """The changes that no side has, although the user may expect them to be measured."""
    checkouts = [side.checkout for side in sides]
    files = next((checkout.left_out for checkout in checkouts if checkout), ())
    is_in_none = all(checkout and checkout.left_out for checkout in checkouts)
    return (LeftOut(files=files),) if is_in_none else ()


def of_workers(spec: RunSpec) -> tuple[Caution, ...]:
    """What several workers compute unlike one, if they do."""
    found = unlike_one(spec.case, spec.network, spec.framework) if isinstance(spec, NetworkSpec) else None
    return (found,) if found else ()


def of_breakdown(settings: RunSettings, spec: RunSpec) -> tuple[Caution, ...]:
    """Why a case has no phases of a step although they were asked for, if it is none that has them."""
    if not settings.breaks_down or trains_network(spec):
        return ()
    return (Undivided(cause="purpose", what=kind(spec)),)


def _time_to_target(*sides: Sequence[Run]) -> TimeToTarget | None:
    """The comparison of times to the target; None unless at least two runs of each side had one."""
    baseline, candidate = ([time for run in runs if (time := judging.time_to_accuracy(run))] for runs in sides)
    if min(len(baseline), len(candidate)) < 2:
        return None
    times = compare_times(baseline, candidate)
    missed = [sum(time.is_censored for time in side) for side in (baseline, candidate)]
    return TimeToTarget(
        target=baseline[0].target,
        baseline=times.old,
        candidate=times.new,
        horizon=times.horizon,
        longer=_finite(times.longer.estimate),
        lower=_finite(times.longer.lower),
        upper=_finite(times.longer.upper),
        p_value=_finite(times.p_value),
        missed=(missed[0], missed[1]),
        runs=(len(baseline), len(candidate)),
    )


def _finite(value: float) -> float | None:
    return value if isfinite(value) else None


def invalid_pair(error: InvalidError, repeats: int) -> Invalid:
    """The reasons why a pair and its repetitions were invalid."""
    return invalid({"baseline": (error.pair["baseline"],), "candidate": (error.pair["candidate"],)}, repeats)


def diverged(baseline: Divergences, candidate: Divergences) -> Diverged:
    """Both counts, with the probability of the excess by chance if the candidate diverged more often."""
    has_more = baseline.runs and candidate.runs and candidate.diverged > baseline.diverged
    return Diverged(
        baseline=baseline.diverged,
        baseline_runs=baseline.runs,
        candidate=candidate.diverged,
        candidate_runs=candidate.runs,
        chance=more_divergences(baseline, candidate) if has_more else None,
    )


def too_tight_for_sessions(asked: Mapping[str, float], smallest: Mapping[str, float]) -> ToleranceTooTight:
    """Tolerances that the stored sessions cannot resolve."""
    return ToleranceTooTight(metrics=tight(asked, smallest), basis="sessions")


def cautions_of_pairs(found: Found, terms: Terms) -> tuple[Caution, ...]:
    """Tolerances that pairs could not resolve, before or while they ran, and a median that does not decide."""
    variable = too_variable(found, terms)
    # What was cleared all the same needs no warning.
    others = {one.metric for one in found.verdicts if one.outcome is VerdictOutcome.EQUIVALENT}
    others |= {one.metric for one in variable}
    known = {name: least for name, least in narrow(terms).items() if name not in others}
    cautions: list[Caution] = [too_tight_for_pairs(terms, known)] if known else []
    if variable:
        cautions.append(ToleranceTooTight(metrics=variable, pairs=terms.max_pairs, basis="pairs"))
    regressed = {one.metric: one.decides for one in found.verdicts if one.outcome is VerdictOutcome.REGRESSED}
    if "step_time" not in regressed and not regressed.get("step_time_median", True):
        cautions.append(MedianRegressed())
    return tuple(cautions)


def too_tight_for_pairs(terms: Terms, smallest: Mapping[str, float]) -> ToleranceTooTight:
    """Tolerances that the maximum number of pairs cannot resolve."""
    return ToleranceTooTight(
        metrics=tight(terms.tolerances, smallest),
        pairs=terms.max_pairs,
        basis="runs" if terms.reference_runs else "calibration" if terms.calibrated or terms.step_pairs else "any",
        reference_runs=terms.reference_runs,
    )
