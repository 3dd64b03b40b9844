"""What the verdicts of a case rest on, put together from both of its sides."""

import os
from collections.abc import Mapping, Sequence
from math import isfinite
from pathlib import Path

from pytest_dlbench import judging
from pytest_dlbench.environments import Framework
from pytest_dlbench.judging import Metrics
from pytest_dlbench.judging.accuracy import Divergences, compare_times, more_divergences
from pytest_dlbench.judging.pairs import stall
from pytest_dlbench.judging.phases import growths
from pytest_dlbench.judging.reasons import invalid, tight
from pytest_dlbench.judging.two_stage import Found, Terms
from pytest_dlbench.records import Baseline, Record, Run
from pytest_dlbench.records.reasons import (
    Compared,
    Diverged,
    InPairs,
    Invalid,
    MoveReference,
    Paired,
    PhaseChange,
    Reference,
    Repeat,
    TimeToTarget,
    ToleranceTooTight,
)
from pytest_dlbench.running.pairs import InvalidError


def compared(baseline: Baseline, record: Record, folder: Path, again: Repeat, pairs: InPairs | None = None) -> Compared:
    """A session against its stored baseline, which lies in ``folder``; ``pairs`` where they should settle it."""
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
    )


def _reference(baseline: Baseline, folder: Path) -> Reference:
    session = next(session for session in baseline.sessions if session.id == baseline.anchor)
    return Reference(saved=session.saved, why=session.reason, move=MoveReference(baselines=os.path.relpath(folder)))


def in_pairs(
    baseline: Baseline, record: Record, framework: Framework, tolerances: Mapping[str, float], metrics: Metrics
) -> InPairs:
    """Pairs of the baseline's version and the one of now, where the two are known and differ."""
    then, now = (
        versions.get(framework.package, "").partition("+")[0]
        for versions in (baseline.sessions[-1].versions, record.runs[0].versions)
    )
    is_released = then and now and then != now and framework.environments
    typed = {name: tolerance for name, tolerance in tolerances.items() if tolerance != metrics[name].tolerance}
    return InPairs(
        framework=framework.name.partition("==")[0].partition("@")[0],
        versions=(then, now) if is_released else None,
        tolerances=typed,
    )


def paired(found: Found, old: Sequence[Run], new: Sequence[Run], again: Repeat) -> Paired:
    """Which phases changed, how the two sides differ, and what is reported without being judged."""
    phases = [PhaseChange(phase=one.phase, baseline=one.old, candidate=one.new) for one in growths(old, new)]
    return Paired(
        phases=tuple(phases),
        versions=judging.changes(old[0].versions, new[0].versions),
        stall=stall(found.decisions),
        time_to_target=_time_to_target(old, new),
        again=again,
    )


def _time_to_target(*sides: Sequence[Run]) -> TimeToTarget | None:
    """None unless two runs or more of each side had a target."""
    old, new = ([time for run in runs if (time := judging.time_to_accuracy(run))] for runs in sides)
    if min(len(old), len(new)) < 2:
        return None
    times = compare_times(old, new)
    missed_old, missed_new = (sum(time.is_censored for time in side) for side in (old, new))
    return TimeToTarget(
        target=old[0].target,
        baseline=times.old,
        candidate=times.new,
        horizon=times.horizon,
        longer=_finite(times.longer.estimate),
        lower=_finite(times.longer.lower),
        upper=_finite(times.longer.upper),
        p_value=_finite(times.p_value),
        missed=(missed_old, missed_new),
        runs=(len(old), len(new)),
    )


def _finite(value: float) -> float | None:
    return value if isfinite(value) else None


def invalid_pair(error: InvalidError, repeats: int) -> Invalid:
    """A pair that stayed invalid in so many repetitions."""
    return invalid({"baseline": (error.pair["old"],), "candidate": (error.pair["new"],)}, repeats)


def diverged(old: Divergences, new: Divergences) -> Diverged:
    """Both counts, with the probability of so many more where the candidate has more."""
    has_more = old.runs and new.runs and new.diverged > old.diverged
    return Diverged(
        baseline=old.diverged,
        baseline_runs=old.runs,
        candidate=new.diverged,
        candidate_runs=new.runs,
        chance=more_divergences(old, new) if has_more else None,
    )


def too_tight_for_sessions(asked: Mapping[str, float], smallest: Mapping[str, float]) -> ToleranceTooTight:
    """Tolerances that the stored sessions cannot judge."""
    return ToleranceTooTight(metrics=tight(asked, smallest), basis="sessions")


def too_tight_for_pairs(terms: Terms, smallest: Mapping[str, float]) -> ToleranceTooTight:
    """Tolerances that as many pairs as there may be cannot judge."""
    return ToleranceTooTight(
        metrics=tight(terms.tolerances, smallest),
        pairs=terms.max_pairs,
        basis="runs" if terms.reference_runs else "calibration" if terms.calibrated else "any",
        reference_runs=terms.reference_runs,
    )
