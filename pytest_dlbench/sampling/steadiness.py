"""Whether the same work takes the same processor time: if not, something slows the cores that no counter reports.

Two guests of a virtual machine's host that share a core as hardware threads slow each other by half, without stolen
time, and without any process on this machine that could be seen.
"""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from statistics import quantiles
from time import perf_counter, thread_time

from pytest_dlbench.sampling.noise import Finding

SECONDS = 2.0
MOST_CORES = 4
FEWEST_SAMPLES = 20
# Observed on a core that guests share: work takes 1 to 2.1 times its shortest time, mostly one or the other.
STEADY = 1.2
ADVICE = (
    "other guests of its host slow it, or its clock changes, and no counter reports that: measure elsewhere or later,"
    " or compare in alternating pairs"
)


def steadiness(seconds: float = SECONDS) -> Finding:
    """By how much the processor time of equal work varies, after measuring it for this long."""
    cores = _some_cores()
    return finding({core: samples(core, seconds / len(cores)) for core in cores})


def finding(samples: Mapping[int | None, Sequence[float]]) -> Finding:
    """How steady the worst core is, from seconds of processor time for equal work on each core."""
    ratios = {core: _ratio(seconds) for core, seconds in samples.items()}
    core, ratio = max(ratios.items(), key=lambda item: item[1])
    where = "" if core is None else f" on core {core}"
    state = f"equal work takes {ratio:.2f} times the processor time at its 90 % quantile as at its 10 %{where}"
    return Finding(topic="speed of the cores", state=state, advice=ADVICE if ratio > STEADY else "")


def samples(core: int | None, seconds: float, work: Callable[[], object] | None = None) -> list[float]:
    """Seconds of processor time that equal work takes, again and again on one core for this long.

    Time that other processes of this machine take does not count: the load has its own line.
    """
    do = work or _work
    found: list[float] = []
    with _on(core):
        end = perf_counter() + seconds
        while len(found) < FEWEST_SAMPLES or perf_counter() < end:
            began = thread_time()
            do()
            found.append(thread_time() - began)
    return found


def _ratio(seconds: Sequence[float]) -> float:
    """The 90 % quantile, relative to the 10 % quantile: a few slow samples do not count."""
    tenths = quantiles(seconds, n=10, method="inclusive")
    return tenths[-1] / tenths[0]


def _work() -> int:
    """About 1 ms."""
    total = 0
    for number in range(30_000):
        total += number
    return total


def _some_cores() -> Sequence[int | None]:
    """A few of the usable cores, evenly distributed; None is any, where a thread cannot choose."""
    if not hasattr(os, "sched_getaffinity"):
        return [None]
    usable = sorted(os.sched_getaffinity(0))
    return usable[:: -(-len(usable) // MOST_CORES)]


@contextmanager
def _on(core: int | None) -> Iterator[None]:
    if core is None:
        yield
        return
    usable = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {core})
    try:
        yield
    finally:
        os.sched_setaffinity(0, usable)
