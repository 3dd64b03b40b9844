"""Metrics of which 0 is right: judged without a baseline, because a leak in both versions is a leak, too."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite, nan
from statistics import fmean

import numpy as np

from pytest_dlbench.judging.comparable import FEWEST_RUNS
from pytest_dlbench.judging.growth import growth
from pytest_dlbench.judging.intervals import Interval, of_mean
from pytest_dlbench.judging.metric import Metric
from pytest_dlbench.judging.metrics import Metrics
from pytest_dlbench.judging.outcomes import at_best_inconclusive, with_absolute
from pytest_dlbench.judging.scales import badness, limit, shown
from pytest_dlbench.judging.tolerance import asked_for
from pytest_dlbench.records import CaseOutcome, Run, Verdict, VerdictOutcome
from pytest_dlbench.records.reasons import Exceeding, Leaking, Reason, Unshown

ALPHA = 0.025


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """The outcome of a case with its absolute metrics, their verdicts, and which are too high or were not judged."""

    outcome: CaseOutcome
    verdicts: tuple[Verdict, ...]
    exceeding: tuple[Reason, ...]
    unshown: tuple[Unshown, ...]


def judge(outcome: CaseOutcome, runs: Sequence[Run], tolerances: Mapping[str, float], metrics: Metrics) -> Judged:
    """What becomes of a case by metrics that need no baseline, which can only make its outcome worse."""
    found = verdicts(runs, tolerances, metrics)
    for one in found:
        outcome = with_absolute(outcome, one)
    names = unshown(runs, tolerances, metrics)
    return Judged(
        outcome=at_best_inconclusive(outcome) if names else outcome,
        verdicts=found,
        exceeding=tuple(_exceeding(found)),
        unshown=(Unshown(metrics=names, needed=FEWEST_RUNS),) if names else (),
    )


def _exceeding(verdicts: Sequence[Verdict]) -> Iterator[Reason]:
    """Why absolute metrics are no good, or may be none."""
    names = tuple(one.metric for one in verdicts if one.outcome is not VerdictOutcome.EQUIVALENT)
    if "leak" in names:
        yield Leaking()
    if others := tuple(name for name in names if name != "leak"):
        yield Exceeding(metrics=others)


def verdicts(runs: Sequence[Run], tolerances: Mapping[str, float], metrics: Metrics) -> tuple[Verdict, ...]:
    """A verdict for each absolute metric with a tolerance that three runs or more have."""
    judged = [(metrics[name], tolerance) for name, tolerance in tolerances.items() if metrics[name].is_absolute]
    found = (verdict(metric, runs, tolerance) for metric, tolerance in judged)
    return tuple(one for one in found if one)


def unshown(runs: Sequence[Run], tolerances: Mapping[str, float], metrics: Metrics) -> tuple[str, ...]:
    """The absolute metrics that some of enough runs have, but too few for a verdict.

    Of those with their default tolerance, only what is above it in every run that has it: short runs lack a metric
    without anything being wrong.
    """
    asked = asked_for(tolerances, metrics)
    scarce = {name: _scarce(metrics[name], runs) for name in tolerances if metrics[name].is_absolute}
    return tuple(
        name
        for name, values in scarce.items()
        if values and (name in asked or _all_exceed(metrics[name], values, tolerances[name]))
    )


def _scarce(metric: Metric, runs: Sequence[Run]) -> Sequence[float]:
    """What the runs have of it, if they are enough for a verdict and those that have it are too few."""
    values = _values(metric, runs)
    return values if len(values) < FEWEST_RUNS <= len(runs) else ()


def _all_exceed(metric: Metric, values: Sequence[float], tolerance: float) -> bool:
    # Not "above": what cannot be compared is never fine.
    return not any(badness(metric, value) <= limit(metric, tolerance) for value in values)


def verdict(metric: Metric, runs: Sequence[Run], tolerance: float) -> Verdict | None:
    """Whether the runs that have the metric have more of it than the tolerance; None if they are too few.

    A run may be too short to show it, and hides nothing of the others.
    """
    values = _values(metric, runs)
    if len(values) < FEWEST_RUNS:
        return None
    found = mean(metric, values)
    change, lower, upper = shown(metric, found.estimate, found.lower, found.upper)
    return Verdict(
        metric=metric.name,
        outcome=judged(found, limit(metric, tolerance)),
        old=0.0,
        new=fmean(values),
        change=change,
        lower=lower,
        upper=upper,
        tolerance=tolerance,
    )


def _values(metric: Metric, runs: Sequence[Run]) -> Sequence[float]:
    """What the runs have of it. Memory that shrinks counts as such: growth by chance is as often below 0 as above."""
    if metric.name != "leak":
        return metric.values(runs)
    return [grown for run in runs if isfinite(grown := growth(run))]


def mean(metric: Metric, values: Sequence[float]) -> Interval:
    """How bad the values are on average; unbounded if one is no figure that can be compared."""
    points = np.array([badness(metric, value) for value in values])
    if not all(map(isfinite, points)):
        return Interval(estimate=nan, lower=-np.inf, upper=np.inf)
    return of_mean(points, run_sd=metric.run_sd, is_robust=metric.is_robust, alpha=ALPHA)


def judged(found: Interval, limit: float) -> VerdictOutcome:
    """``regressed`` if it is surely more than the limit, ``equivalent`` if less."""
    if found.lower > limit:
        return VerdictOutcome.REGRESSED
    return VerdictOutcome.EQUIVALENT if found.upper < limit else VerdictOutcome.INCONCLUSIVE
