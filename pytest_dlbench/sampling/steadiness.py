"""Whether the same work takes the same processor time: if not, something slows the cores that no counter reports.

Two guests of a virtual machine's host that share a core as hardware threads slow each other by half, without stolen
time, and without any process on this machine that could be seen.
"""

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from operator import itemgetter
from statistics import quantiles
from time import perf_counter, thread_time

from pytest_dlbench.records.runs import STEADY_CORES
from pytest_dlbench.sampling.noise import Finding

SECONDS = 2.0
MOST_CORES = 4
FEWEST_SAMPLES = 20
ADVICE = (
    "other guests of its host slow it, or its clock changes, and no counter reports that: measure elsewhere or later,"
    " or compare in alternating pairs"
)

Core = int | None
"""Its number; None is any, where a thread cannot choose."""


def finding() -> Finding:
    """How steady the cores are, measured for two seconds, and what to do about it."""
    return described(*worst(SECONDS))


def described(core: Core, variation: float) -> Finding:
    """The same of the core whose speed varies most."""
    where = "" if core is None else f" on core {core}"
    state = f"equal work takes {variation:.2f} times the processor time at its 90 % quantile as at its 10 %{where}"
    return Finding(topic="speed of the cores", state=state, advice=ADVICE if variation > STEADY_CORES else "")


def core_variation() -> float:
    """By how much the speed of the cores varies, measured for two seconds."""
    _, found = worst(SECONDS)
    return found


def worst(seconds: float) -> tuple[Core, float]:
    """Which core varies most, and by how much, after measuring some of the usable ones for this long altogether."""
    cores = _some_cores()
    variations = {core: variation(samples(core, seconds / len(cores))) for core in cores}
    return max(variations.items(), key=itemgetter(1))


def variation(seconds: Sequence[float]) -> float:
    """The 90 % quantile of what equal work took, relative to the 10 % quantile: a few slow samples do not count."""
    tenths = quantiles(seconds, n=10, method="inclusive")
    return tenths[-1] / tenths[0]


def samples(core: Core, seconds: float, work: Callable[[], object] | None = None) -> list[float]:
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


def _work() -> int:
    """About 1 ms."""
    total = 0
    for number in range(30_000):
        total += number
    return total


def _some_cores() -> Sequence[Core]:
    """A few of the usable cores, evenly distributed."""
    if not hasattr(os, "sched_getaffinity"):
        return [None]
    usable = sorted(os.sched_getaffinity(0))
    return usable[:: -(-len(usable) // MOST_CORES)]


@contextmanager
def _on(core: Core) -> Iterator[None]:
    if core is None:
        yield
        return
    usable = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {core})
    try:
        yield
    finally:
        os.sched_setaffinity(0, usable)
