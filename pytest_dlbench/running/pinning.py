"""Pins a worker to as many cores as it has threads, the same ones in every run.

A framework that starts more threads than requested then gains nothing from them. Systems without pinning (macOS) are
left alone.
"""

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

CORES = Path("/sys/devices/system/cpu")
PCI = Path("/sys/bus/pci/devices")


def cores(threads: int) -> frozenset[int]:
    """The first ``threads`` of ``ranked``; all of them if there are more threads."""
    return frozenset(ranked()[:threads])


def near(bus: str, root: Path = PCI) -> frozenset[int]:
    """The cores next to a device at a PCI address; all that this process may use if the kernel names none of them.

    Cores of another socket reach it over the link between the sockets, and which ones a worker gets would be chance.
    """
    usable = frozenset(ranked())
    try:
        named = (root / bus / "local_cpulist").read_text("utf-8", "replace") if bus else ""
    except OSError:
        named = ""
    return (usable & _listed(named)) or usable


def _listed(text: str) -> frozenset[int]:
    """The numbers in a list of the kernel, such as 0-3,8."""
    parts = (part.partition("-") for part in text.strip().split(",") if part.strip())
    return frozenset(core for first, _, last in parts for core in range(int(first), int(last or first) + 1))


def shares(threads: int, workers: int, among: frozenset[int] = frozenset()) -> list[frozenset[int]]:
    """The cores of each of several workers, as many as it has threads: the first of ``ranked``, none twice.

    Only cores of ``among``, if it has any.
    """
    free = [core for core in ranked() if core in among or not among]
    return [frozenset(free[rank * threads : (rank + 1) * threads]) for rank in range(workers)]


def ranked(root: Path = CORES) -> tuple[int, ...]:
    """All cores that this process may use, highest number first, one per physical core before any sibling.

    The highest come first because core 0 serves most of a machine's interrupts.
    """
    if not hasattr(os, "sched_getaffinity"):
        return ()
    return by_physical_core({core: _siblings(root, core) for core in os.sched_getaffinity(0)})


def by_physical_core(siblings: dict[int, str]) -> tuple[int, ...]:
    """Cores in the order of ``ranked``; ``siblings`` maps each to the name of its physical core."""
    seen: dict[str, int] = {}
    places: list[tuple[int, int]] = []
    for core in sorted(siblings, reverse=True):
        place = seen[siblings[core]] = seen.get(siblings[core], -1) + 1
        places.append((place, -core))
    return tuple(-core for _, core in sorted(places))


def _siblings(root: Path, core: int) -> str:
    try:
        return (root / f"cpu{core}/topology/thread_siblings_list").read_text("utf-8", "replace").strip()
    except OSError:
        return str(core)


@contextmanager
def pinned(cores: frozenset[int]) -> Iterator[None]:
    """Processes started in this block may use these cores only; with an empty set, all that this process may use.

    The setting is inherited, so it holds from the start: a library that counts cores when it is loaded counts these.
    """
    if not cores:
        yield
        return
    # 0 is the calling thread, not the process: the driver's other threads stay where they were.
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, cores)
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def move(pid: int, cores: frozenset[int]) -> None:
    """Pin a process with all of its threads to other cores; nothing happens if it has ended."""
    moved: set[str] = set()
    # A thread that starts meanwhile may be one of a thread that is still to be moved.
    while found := _threads(pid) - moved:
        for thread in found:
            with suppress(ProcessLookupError):
                os.sched_setaffinity(int(thread), cores)
        moved |= found


def _threads(pid: int) -> set[str]:
    try:
        return {path.name for path in Path(f"/proc/{pid}/task").iterdir()}
    except OSError:
        return set()


def others(pids: Iterable[int]) -> frozenset[int]:
    """The cores that this thread may use and none of these processes may; none if the system cannot pin processes."""
    return frozenset(in_force(0)).difference(*map(in_force, pids))


def in_force(pid: int) -> tuple[int, ...]:
    """The cores that a process may use, from the kernel; none if it has ended, or the system cannot pin processes.

    0 is the calling thread.
    """
    try:
        return tuple(sorted(os.sched_getaffinity(pid)))
    except (AttributeError, OSError):
        return ()
