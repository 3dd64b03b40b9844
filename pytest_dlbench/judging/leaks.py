"""Memory that grows with the steps: judged by itself, for a leak in both versions is one, too."""

from collections.abc import Sequence
from math import nan

import numpy as np

from pytest_dlbench.judging.comparable import FEWEST_RUNS
from pytest_dlbench.judging.intervals import Interval, of_mean
from pytest_dlbench.judging.metrics import METRICS
from pytest_dlbench.judging.readings import steady_steps
from pytest_dlbench.judging.spans import Span, spans
from pytest_dlbench.records import Run, Training, Verdict, VerdictOutcome

ALPHA = 0.025
# Fewer samples behind the warm-up do not tell a slope, and the memory of the first steps is that of allocators which
# find out what they need: PyTorch's grows by 4 % over three steps of two seconds each.
LEAST_SAMPLES, LEAST_STEPS = 10, 40


def growth(run: Run) -> float:
    """By what share of itself the resident set grew over the settled steps: 0.02 is 2 %.

    Those are the steps behind the warm-up and, where an evaluation lies between steps, behind the first one: an
    allocator keeps what that needed. The Theil-Sen line through the samples, so that a buffer that comes and goes is no
    growth. NaN of a run of less than 40 such steps, or that was sampled less than 10 times meanwhile, or whose record
    is older than its timeline.
    """
    if run.training is None or run.training.began_seconds is None:
        return nan
    settled = _settled(run.training)
    if len(settled) < LEAST_STEPS:
        return nan
    begin, end = settled[0][0], settled[-1][1]
    inside = [place for place, moment in enumerate(run.timeline.seconds) if begin <= moment <= end]
    if len(inside) < LEAST_SAMPLES:
        return nan
    from scipy import stats  # noqa: PLC0415 - as in intervals

    resident = [run.timeline.rss_bytes[place] for place in inside]
    slope = stats.theilslopes(resident, [run.timeline.seconds[place] for place in inside]).slope
    return float(slope * (end - begin) / np.median(resident))


def leak(runs: Sequence[Run], alpha: float = ALPHA) -> Interval:
    """The mean growth over the runs in points; everything where one of them does not tell it, or there are none."""
    points = np.array([100 * growth(run) for run in runs])
    if not len(points) or not np.isfinite(points).all():
        return Interval(estimate=nan, lower=-np.inf, upper=np.inf)
    return of_mean(points, run_sd=METRICS["leak"].run_sd, is_robust=False, alpha=alpha)


def verdict(runs: Sequence[Run], tolerance: float) -> Verdict | None:
    """Whether runs leak more than so many points, against no growth at all; None of too few, or silent ones."""
    grown = leak(runs)
    if len(runs) < FEWEST_RUNS or not np.isfinite(grown.estimate):
        return None
    return Verdict(
        metric="leak",
        outcome=is_leaking(grown, tolerance),
        old=0.0,
        new=grown.estimate / 100,
        change=grown.estimate,
        lower=grown.lower,
        upper=grown.upper,
        tolerance=tolerance,
    )


def is_leaking(grown: Interval, tolerance: float) -> VerdictOutcome:
    """``regressed`` for memory that surely grows by more than the tolerance, ``equivalent`` for less."""
    if grown.lower > tolerance:
        return VerdictOutcome.REGRESSED
    return VerdictOutcome.EQUIVALENT if grown.upper < tolerance else VerdictOutcome.INCONCLUSIVE


def _settled(training: Training) -> tuple[Span, ...]:
    """When each settled step began and ended, in seconds of the timeline."""
    warm_up = len(training.step_seconds) - len(steady_steps(training))
    resumed = min((number for number, _ in training.resumed), default=0)
    return spans(training)[max(warm_up, resumed) :]
