"""Pairs whose steps alternated: neighbouring steps are compared, and processor time is a second witness.

A pair's figure is the median of ln(candidate / baseline) over its pairs of steps. A fresh pair of processes stays the
unit: how memory is laid out differs from process to process, whichever way their steps are ordered. If one side stops
earlier than the other, the steps that the other one took alone have no neighbours, and do not count.
"""

from collections.abc import Sequence
from math import log, nan
from statistics import median, quantiles

from pytest_dlbench.judging.warm_up import warm_up
from pytest_dlbench.records import Alternation, Run

# The processor time of a step per second in which it did not wait for a processor, where one thread computes: waiting
# for anything else makes it less, and further threads that compute or spin make it more.
LEAST_COMPUTING, MOST_COMPUTING = 0.9, 1.05


def is_alternating(old: Run, new: Run) -> bool:
    """Whether the steps of two runs alternated."""
    return all(run.training is not None and run.training.alternation is not None for run in (old, new))


def wall_ratio(old: Run, new: Run) -> float:
    """The median of ln(new / old) over neighbouring steps after the warm-up, of their seconds; NaN without any."""
    return _log_ratio(*(wall_seconds(run)[_warm(old, new) :] for run in (old, new)))


def cpu_ratio(old: Run, new: Run) -> float:
    """The same of their processor seconds."""
    return _log_ratio(*(_alternation(run).cpu_seconds[_warm(old, new) :] for run in (old, new)))


def wall_seconds(run: Run) -> Sequence[float]:
    """Seconds of the steps that alternated."""
    assert run.training is not None
    return run.training.step_seconds[_alternation(run).first :]


def may_compute_alone(*runs: Run) -> bool:
    """Whether these runs may have a single thread, which they were asked for whatever they then did."""
    return all(run.threads in (None, 1) for run in runs)


def cpu_is_witness(old: Run, new: Run) -> bool:
    """Whether processor time is what users wait for: a single thread computes whenever others leave it a processor."""
    return may_compute_alone(old, new) and all(_computes_alone(run, _warm(old, new)) for run in (old, new))


def _computes_alone(run: Run, warm: int) -> bool:
    if computing := _alternation(run).computing:
        return LEAST_COMPUTING <= median(computing) <= MOST_COMPUTING
    # Without the kernel's count of waits, the least disturbed steps show it.
    steps = list(zip(_alternation(run).cpu_seconds[warm:], wall_seconds(run)[warm:], strict=True))
    if len(steps) < 2:
        return False
    undisturbed = quantiles([cpu / wall for cpu, wall in steps], n=10, method="inclusive")[8]
    return LEAST_COMPUTING <= undisturbed <= MOST_COMPUTING


def _log_ratio(old: Sequence[float], new: Sequence[float]) -> float:
    return median([log(b / a) for a, b in zip(old, new, strict=False) if min(a, b) > 0] or [nan])


def _warm(*runs: Run) -> int:
    """How many of the alternated steps are warm-up on either side."""
    trainings = [run.training for run in runs if run.training]
    warm = (warm_up(found.step_seconds).steps for found in trainings)
    return max(0, *(steps - _alternation(run).first for run, steps in zip(runs, warm, strict=True)))


def _alternation(run: Run) -> Alternation:
    assert run.training is not None
    assert run.training.alternation is not None
    return run.training.alternation
