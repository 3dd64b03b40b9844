"""The processes below one: by the kernel's own lists of children where it keeps them, else by reading all of /proc."""

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import psutil

from pytest_dlbench.sampling.counters import tasks

PROC = Path("/proc")


def descendants(process: psutil.Process, proc: Path = PROC) -> list[psutil.Process]:
    """Children, theirs and so on; none of a process that is gone."""
    if (proc / "thread-self" / "children").exists():
        return list(_processes(_below(process.pid, proc)))
    # Each process of the machine is asked for its parent: of a hundred that takes thirty times as long.
    with suppress(psutil.Error):
        return process.children(recursive=True)
    return []


def _below(pid: int, proc: Path) -> Iterator[int]:
    # A child is in the list of the thread that started it.
    for task in tasks(proc / str(pid) / "task"):
        # The thread may have ended since.
        with suppress(OSError):
            for child in map(int, (task / "children").read_text().split()):
                yield child
                yield from _below(child, proc)


def _processes(pids: Iterator[int]) -> Iterator[psutil.Process]:
    for pid in pids:
        with suppress(psutil.Error):
            yield psutil.Process(pid)
