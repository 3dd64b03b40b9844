"""Memory that grows with the steps: judged by itself, for a leak in both versions is one, too."""

from collections.abc import Sequence
from math import nan

import numpy as np

from pytest_dlbench.judging.intervals import Interval, paired
from pytest_dlbench.judging.readings import steady_steps
from pytest_dlbench.judging.spans import spans
from pytest_dlbench.records import Run, VerdictOutcome

ALPHA = 0.025
# Fewer samples behind the warm-up do not tell a slope.
LEAST_SAMPLES = 10
# Of the resident set, over all steps behind the warm-up.
TOLERANCE = 0.02
# What is assumed of the spread of fresh processes, as for peak memory.
RUN_SD = 0.005


def growth(run: Run) -> float:
    """By what share of itself the resident set grew over the steps behind the warm-up: 0.02 is 2 %.

    The Theil-Sen line through the samples, so that a buffer that comes and goes is no growth. NaN of a run that was
    sampled less than 10 times meanwhile, or whose record is older than its timeline.
    """
    from scipy import stats  # noqa: PLC0415 - as in intervals

    begin, end = _steady(run)
    inside = [place for place, moment in enumerate(run.timeline.seconds) if begin <= moment <= end]
    if len(inside) < LEAST_SAMPLES:
        return nan
    resident = [run.timeline.rss_bytes[place] for place in inside]
    slope = stats.theilslopes(resident, [run.timeline.seconds[place] for place in inside]).slope
    return float(slope * (end - begin) / np.median(resident))


def leak(runs: Sequence[Run], alpha: float = ALPHA) -> Interval:
    """The mean growth over the runs; everything where one of them does not tell it, or there are none."""
    shares = np.array([growth(run) for run in runs])
    if not len(shares) or not np.isfinite(shares).all():
        return Interval(estimate=nan, lower=-np.inf, upper=np.inf)
    return paired(shares, run_sd=RUN_SD, is_robust=False, alpha=alpha)


def is_leaking(grown: Interval, tolerance: float = TOLERANCE) -> VerdictOutcome:
    """``regressed`` for memory that surely grows by more than the tolerance, ``equivalent`` for less."""
    if grown.lower > tolerance:
        return VerdictOutcome.REGRESSED
    return VerdictOutcome.EQUIVALENT if grown.upper < tolerance else VerdictOutcome.INCONCLUSIVE


def _steady(run: Run) -> tuple[float, float]:
    """When the steps behind the warm-up began and ended, in seconds of the timeline."""
    training = run.training
    if training is None or training.began_seconds is None:
        return nan, nan
    steady = spans(training)[-len(steady_steps(training)) :]
    return steady[0][0], steady[-1][1]
