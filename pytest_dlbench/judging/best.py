"""Which of several measured side by side is the best, where their runs allow that to be said.

Each has an interval of 95 % around its mean, on the logarithm for ratio metrics: a moderated t interval as in
``intervals``, with what two cases of one session are assumed to differ by added. The best is told only where its
interval overlaps no other's; that is stricter than a test of each pair at 5 %.
"""

from collections.abc import Sequence
from math import isfinite, log, sqrt
from statistics import fmean

from pytest_dlbench.judging.comparable import FEWEST_RUNS
from pytest_dlbench.judging.metric import Metric

# Of the assumed spread, beside the data.
PRIOR_FREEDOM = 4
ALPHA = 0.025


def best(metric: Metric, sides: Sequence[Sequence[float]]) -> int | None:
    """The place of the best among values of fresh runs, or None: too few of either, or nothing to tell them apart."""
    if len(sides) < 2 or any(not _is_sound(metric, values) for values in sides):
        return None
    intervals = [_interval(metric, values) for values in sides]
    if metric.better == "higher":
        intervals = [(-upper, -lower) for lower, upper in intervals]
    first = min(range(len(sides)), key=lambda place: intervals[place])
    others = [lower for place, (lower, _) in enumerate(intervals) if place != first]
    return first if intervals[first][1] < min(others) else None


def _is_sound(metric: Metric, values: Sequence[float]) -> bool:
    """Neither zero nor a negative number has a ratio."""
    if len(values) < FEWEST_RUNS:
        return False
    return all(isfinite(value) and (value > 0 or metric.kind == "points") for value in values)


def _interval(metric: Metric, values: Sequence[float]) -> tuple[float, float]:
    # Late, because it is slow to load, and every pytest session with this plugin installed would pay for it.
    from scipy import special  # noqa: PLC0415

    seen = [100 * value if metric.kind == "points" else log(value) for value in values]
    middle, freedom = fmean(seen), PRIOR_FREEDOM + len(seen) - 1
    squares = sum((value - middle) ** 2 for value in seen) + PRIOR_FREEDOM * metric.run_sd**2
    error = sqrt(squares / freedom / len(seen) + metric.session_sd**2)
    width = float(special.stdtrit(freedom, 1 - ALPHA)) * error
    return middle - width, middle + width
