"""Metrics of which 0 is right: judged without a baseline, because a leak in both versions is a leak, too."""

from collections.abc import Mapping, Sequence
from math import isfinite, nan
from statistics import fmean

import numpy as np

from pytest_dlbench.judging.comparable import FEWEST_RUNS
from pytest_dlbench.judging.growth import growth
from pytest_dlbench.judging.intervals import Interval, of_mean
from pytest_dlbench.judging.metric import Metric
from pytest_dlbench.judging.metrics import Metrics
from pytest_dlbench.judging.scales import badness, limit, shown
from pytest_dlbench.judging.tolerance import asked_for
from pytest_dlbench.records import Run, Verdict, VerdictOutcome

ALPHA = 0.025


def verdicts(runs: Sequence[Run], tolerances: Mapping[str, float], metrics: Metrics) -> tuple[Verdict, ...]:
    """A verdict for each absolute metric with a tolerance that three runs or more have."""
    judged = [(metrics[name], tolerance) for name, tolerance in tolerances.items() if metrics[name].is_absolute]
    found = (verdict(metric, runs, tolerance) for metric, tolerance in judged)
    return tuple(one for one in found if one)


def unshown(runs: Sequence[Run], tolerances: Mapping[str, float], metrics: Metrics) -> tuple[str, ...]:
    """The absolute metrics that somebody asked for, and that some of enough runs have, but too few for a verdict."""
    asked = [metrics[name] for name in asked_for(tolerances, metrics) if metrics[name].is_absolute]
    is_scarce = {metric.name: 0 < len(metric.values(runs)) < FEWEST_RUNS <= len(runs) for metric in asked}
    return tuple(name for name, is_so in is_scarce.items() if is_so)


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
