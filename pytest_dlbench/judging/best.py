"""Which of several sides is the best, if their runs support a claim.

Each side has a 95 % interval around its mean, of logarithms for ratio metrics: a moderated t interval as in
``intervals``, plus the assumed difference between two cases of one session. A best one is named only if its interval
overlaps no other, which is stricter than a test of each pair at 5 %.
"""

from collections.abc import Sequence
from math import isfinite

import numpy as np

from pytest_dlbench.judging.comparable import FEWEST_RUNS
from pytest_dlbench.judging.intervals import of_mean
from pytest_dlbench.judging.metric import Metric
from pytest_dlbench.judging.scales import badness

ALPHA = 0.025


def best(metric: Metric, sides: Sequence[Sequence[float]]) -> int | None:
    """The index of the best side, or None: too few sides or runs, or no significant difference."""
    if len(sides) < 2 or any(not _is_sound(metric, values) for values in sides):
        return None
    intervals = [_interval(metric, values) for values in sides]
    first = min(range(len(sides)), key=lambda place: intervals[place])
    others = [lower for place, (lower, _) in enumerate(intervals) if place != first]
    return first if intervals[first][1] < min(others) else None


def _is_sound(metric: Metric, values: Sequence[float]) -> bool:
    """Whether there are enough finite values, and all of them have ratios (are above 0) if the metric needs them."""
    if len(values) < FEWEST_RUNS:
        return False
    return all(isfinite(value) and (value > 0 or metric.kind == "points") for value in values)


def _interval(metric: Metric, values: Sequence[float]) -> tuple[float, float]:
    seen = np.array([badness(metric, value) for value in values])
    found = of_mean(seen, run_sd=metric.run_sd, session_sd=metric.session_sd, is_robust=False, alpha=ALPHA)
    return found.lower, found.upper
