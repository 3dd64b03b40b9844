"""How much a run's memory grows with its steps."""

from math import nan

import numpy as np

from pytest_dlbench.judging.spans import Span, evaluated_before, spans
from pytest_dlbench.judging.warm_up import steady_steps
from pytest_dlbench.records import Run, Training

# Fewer samples after the warm-up do not show a slope, and in the first steps memory grows because allocators
# find out what they need: PyTorch's by 4 % over three steps of two seconds each.
LEAST_SAMPLES, LEAST_STEPS = 10, 40


def growth(run: Run) -> float:
    """The relative growth of the resident set over the settled steps: 0.02 is 2 %.

    Settled are the steps after the warm-up and, if there are evaluations between steps, after the first of those,
    because an allocator keeps the memory it needed. The growth is that of the Theil-Sen line through the samples, so
    that temporary buffers do not count. NaN for a run with fewer than 40 such steps or 10 such samples, or whose
    record is older than the timeline.
    """
    if run.training is None or run.training.began_seconds is None:
        return nan
    settled = _settled(run, run.training)
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


def _settled(run: Run, training: Training) -> tuple[Span, ...]:
    """Start and end of each settled step, in seconds of the timeline."""
    warm_up = len(training.step_seconds) - len(steady_steps(training))
    return spans(training)[max(warm_up, min(evaluated_before(run), default=0)) :]
