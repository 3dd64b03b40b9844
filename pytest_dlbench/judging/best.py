"""Which of several measured side by side is the best, where their runs allow that to be said.

Each has an interval of 95 % around its mean, on the logarithm for ratio metrics: a moderated t interval as in
``intervals``, with what two cases of one session are assumed to differ by added. The best is told only where its
interval overlaps no other's; that is stricter than a test of each pair at 5 %.
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
    """The place of the best among values of fresh runs, or None: too few of either, or nothing to tell them apart."""
    if len(sides) < 2 or any(not _is_sound(metric, values) for values in sides):
        return None
    intervals = [_interval(metric, values) for values in sides]
    first = min(range(len(sides)), key=lambda place: intervals[place])
    others = [lower for place, (lower, _) in enumerate(intervals) if place != first]
    return first if intervals[first][1] < min(others) else None


def _is_sound(metric: Metric, values: Sequence[float]) -> bool:
    """Neither zero nor a negative number has a ratio."""
    if len(values) < FEWEST_RUNS:
        return False
    return all(isfinite(value) and (value > 0 or metric.kind == "points") for value in values)


def _interval(metric: Metric, values: Sequence[float]) -> tuple[float, float]:
    seen = np.array([badness(metric, value) for value in values])
    found = of_mean(seen, run_sd=metric.run_sd, session_sd=metric.session_sd, is_robust=False, alpha=ALPHA)
    return found.lower, found.upper
