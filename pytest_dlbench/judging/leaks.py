"""Memory that grows with the steps: judged absolutely, because a leak in both versions is a leak, too."""

from collections.abc import Sequence
from math import nan

import numpy as np

from pytest_dlbench.judging.comparable import FEWEST_RUNS
from pytest_dlbench.judging.growth import growth
from pytest_dlbench.judging.intervals import Interval, of_mean
from pytest_dlbench.judging.metrics import METRICS
from pytest_dlbench.records import Run, Verdict, VerdictOutcome

ALPHA = 0.025


def leak(runs: Sequence[Run], alpha: float = ALPHA) -> Interval:
    """The mean growth over the runs in points; unbounded if there are no runs or one does not show it."""
    points = np.array([100 * growth(run) for run in runs])
    if not len(points) or not np.isfinite(points).all():
        return Interval(estimate=nan, lower=-np.inf, upper=np.inf)
    return of_mean(points, run_sd=METRICS["leak"].run_sd, is_robust=False, alpha=alpha)


def verdict(runs: Sequence[Run], tolerance: float) -> Verdict | None:
    """Whether runs leak more than ``tolerance`` points; None if there are too few, or one does not show it."""
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
    """``regressed`` if memory surely grows by more than the tolerance, ``equivalent`` if by less."""
    if grown.lower > tolerance:
        return VerdictOutcome.REGRESSED
    return VerdictOutcome.EQUIVALENT if grown.upper < tolerance else VerdictOutcome.INCONCLUSIVE
