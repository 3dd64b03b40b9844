"""What searches with several seeds found, together."""

from collections.abc import Sequence
from math import sqrt
from statistics import fmean, stdev

from pytest_dlbench.judging.intervals import Interval, around
from pytest_dlbench.records import Search, SearchPoint

# In either tail: 95 % intervals.
ALPHA = 0.025


def best_until(search: Search, cpu_seconds: float) -> SearchPoint | None:
    """The best trial until this much processor time; None before the first one."""
    return next((point for point in reversed(search.curve) if point.cpu_seconds <= cpu_seconds), None)


def over_seeds(values: Sequence[float]) -> Interval:
    """The mean, with the 95 % t interval of independent seeds; a single seed has no interval, so its bounds are it."""
    if len(values) < 2:
        return Interval(estimate=values[0], lower=values[0], upper=values[0])
    return around(fmean(values), stdev(values) / sqrt(len(values)), len(values) - 1, ALPHA)
