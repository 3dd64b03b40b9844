"""How much a run's memory grows with its steps."""

from collections.abc import Sequence
from itertools import pairwise
from math import nan

import numpy as np

from pytest_dlbench.judging.intervals import Values
from pytest_dlbench.judging.spans import Span, evaluated_before, spans
from pytest_dlbench.judging.warm_up import steady_steps
from pytest_dlbench.records import Run, Timeline, Training

# Fewer samples after the warm-up do not show a slope, and in the first steps memory grows because allocators
# find out what they need: PyTorch's by 4 % over three steps of two seconds each.
LEAST_SAMPLES, LEAST_STEPS = 10, 40


def growth(run: Run) -> float:
    """The relative growth of the resident set over the settled steps: 0.02 is 2 %.

    Settled are the steps after the warm-up and, if there are evaluations between steps, after the first of those,
    because an allocator keeps the memory it needed. The growth is that of the Theil-Sen line through the samples, so
    that temporary buffers do not count. Later evaluations may find out, too, that they need more: where there are some,
    the growth is the larger one of that between evaluations and of twice that in the first or the second half of these
    steps, whichever is less. NaN for a run with fewer than 40 such steps or 10 such samples, or whose record is older
    than the timeline.
    """
    if run.training is None or run.training.began_seconds is None:
        return nan
    settled = _settled(run, run.training)
    if len(settled) < LEAST_STEPS:
        return nan
    whole = (settled[0][0], settled[-1][1])
    resident = _inside(run.timeline, whole)
    if len(resident) < LEAST_SAMPLES:
        return nan
    duration = whole[1] - whole[0]
    return _per_second(run, settled) * duration / float(np.median(resident[:, 1]))


def _per_second(run: Run, settled: Sequence[Span]) -> float:
    """By how many bytes a second memory grows with the steps."""
    assert run.training
    first = len(run.training.step_seconds) - len(settled)
    later = sorted(number - first for number in evaluated_before(run) if number > first)
    parts = [(settled[one][0], settled[end - 1][1]) for one, end in pairwise([0, *later, len(settled)])]
    between = _slope(run.timeline, parts)
    if not later:
        return between
    begin, end = settled[0][0], settled[-1][1]
    middle = (begin + end) / 2
    return max(between, min(_slope(run.timeline, [half]) for half in ((begin, middle), (middle, end))))


def _slope(timeline: Timeline, parts: Sequence[Span]) -> float:
    """The median of the slopes between any two samples of the same part (Theil and Sen); 0 if no part has two."""
    slopes = [_slopes(_inside(timeline, part)) for part in parts]
    return float(np.median(found)) if (found := np.concatenate(slopes)).size else 0.0


def _slopes(samples: Values) -> Values:
    """Bytes a second from each sample to each later one."""
    one, other = np.triu_indices(len(samples), 1)
    seconds, sizes = (samples[other] - samples[one]).T
    found: Values = sizes[seconds > 0] / seconds[seconds > 0]
    return found


def _inside(timeline: Timeline, span: Span) -> Values:
    """The samples from the start of a span to its end, each a moment in seconds and the resident bytes."""
    samples = np.array([timeline.seconds, timeline.rss_bytes], dtype=np.float64).T
    begin, end = span
    return samples[(samples[:, 0] >= begin) & (samples[:, 0] <= end)]


def _settled(run: Run, training: Training) -> tuple[Span, ...]:
    """Start and end of each settled step, in seconds of the timeline."""
    warm_up = len(training.step_seconds) - len(steady_steps(training))
    return spans(training)[max(warm_up, min(evaluated_before(run), default=0)) :]
