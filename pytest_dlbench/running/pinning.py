"""Which processors a worker may use: as many as it has threads, the same ones in every run.

A framework that starts more threads than it was asked for then gains nothing by them. Where the system pins nothing
(macOS), nothing is.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

CORES = Path("/sys/devices/system/cpu")


def cores(threads: int) -> frozenset[int]:
    """The first of ``ranked``; all of them where there are more threads."""
    return frozenset(ranked()[:threads])


def ranked(root: Path = CORES) -> tuple[int, ...]:
    """All that this process may use, the last first, of different physical cores as far as there are enough.

    The last, because the first serves most of a machine's interrupts.
    """
    if not hasattr(os, "sched_getaffinity"):
        return ()
    return by_physical_core({core: _siblings(root, core) for core in os.sched_getaffinity(0)})


def by_physical_core(siblings: dict[int, str]) -> tuple[int, ...]:
    """``siblings`` has the name of each one's physical core."""
    seen: dict[str, int] = {}
    places: list[tuple[int, int]] = []
    for core in sorted(siblings, reverse=True):
        place = seen[siblings[core]] = seen.get(siblings[core], -1) + 1
        places.append((place, -core))
    return tuple(-core for _, core in sorted(places))


def _siblings(root: Path, core: int) -> str:
    try:
        return (root / f"cpu{core}/topology/thread_siblings_list").read_text().strip()
    except OSError:
        return str(core)


@contextmanager
def pinned(cores: frozenset[int]) -> Iterator[None]:
    """What is started in this block may use these processors alone; without any, what this process may use.

    Set before it starts, by inheritance: a library that counts processors when it is loaded counts these.
    """
    if not cores:
        yield
        return
    # 0 is the calling thread, not the process: others of the driver go on wherever they were.
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, cores)
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def in_force(pid: int) -> tuple[int, ...]:
    """The processors that a process may use, as the kernel says; none where it is gone, or nothing is pinned."""
    try:
        return tuple(sorted(os.sched_getaffinity(pid)))
    except (AttributeError, OSError):
        return ()
