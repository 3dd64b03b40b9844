"""Contended steps: those that ran while other processes left no processor free (docs/reference/validity.md)."""

from collections.abc import Iterator, Sequence

from pytest_dlbench.judging.spans import spans
from pytest_dlbench.judging.warm_up import warm_up
from pytest_dlbench.records import Contention, Run, Timeline

# The kernel counts processor time in ticks of 10 ms: shorter intervals are too inaccurate.
STRETCH_SECONDS = 1.0
# Contended: other processes used more than FOREIGN_CPUS, and less than IDLE_SHARE of the machine was idle.
FOREIGN_CPUS = 0.5
IDLE_SHARE = 0.1
# The share of steps after the warm-up that must remain if contended ones are cut.
LEAST_LEFT = 0.5


def contention(run: Run) -> Contention | None:
    """How many steady steps were contended, and whether they are cut; None if the timeline does not show it."""
    if run.training is None or run.training.began_seconds is None or len(run.timeline.machine_seconds) < 2:
        return None
    steady = len(run.training.step_seconds) - warm_up(run.training.step_seconds).steps
    steps = sum(_contended(run)[-steady:])
    return Contention(steps=steps, is_cut=0 < steps <= (1 - LEAST_LEFT) * steady)


def contended(run: Run, steps: int) -> Sequence[bool]:
    """Which of the last ``steps`` steps are cut from step times; none if the run was not examined."""
    is_cut = run.contention is not None and run.contention.is_cut
    return _contended(run)[-steps:] if is_cut else [False] * steps


def _contended(run: Run) -> list[bool]:
    assert run.training is not None
    stretches = list(_contended_stretches(run.timeline, _cores(run)))
    return [any(begin < late and early < end for early, late in stretches) for begin, end in spans(run.training)]


def _cores(run: Run) -> int:
    return max((len(usage.core_use) for usage in run.usage.values()), default=0)


def _contended_stretches(line: Timeline, cores: int) -> Iterator[tuple[float, float]]:
    """Start and end of contended intervals, in seconds since the start of the run."""
    for first, last in _stretches(line.seconds):
        seconds = line.seconds[last] - line.seconds[first]
        busy = line.machine_seconds[last] - line.machine_seconds[first]
        # It decreases if a child ends that nobody waited for.
        ours = max(0.0, line.cpu_seconds[last] - line.cpu_seconds[first])
        if busy - ours > FOREIGN_CPUS * seconds and busy > (1 - IDLE_SHARE) * cores * seconds:
            yield line.seconds[first], line.seconds[last]


def _stretches(seconds: Sequence[float]) -> Iterator[tuple[int, int]]:
    """Indices of intervals of STRETCH_SECONDS or a little more; the rest at the end is an interval, too."""
    first = 0
    for place in range(1, len(seconds)):
        if seconds[place] - seconds[first] >= STRETCH_SECONDS or place == len(seconds) - 1:
            yield first, place
            first = place
