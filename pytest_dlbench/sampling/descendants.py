"""The descendants of a process: from the kernel's own lists of children if it keeps them, else from all of /proc."""

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import psutil

from pytest_dlbench.sampling.counters import tasks

PROC = Path("/proc")


def descendants(process: psutil.Process, proc: Path = PROC) -> list[psutil.Process]:
    """Children, grandchildren and so on; empty if the process has ended."""
    if (proc / "thread-self" / "children").exists():
        return list(_processes(_below(process.pid, proc)))
    # psutil reads the parent of every process on the machine: with a hundred processes that takes 30 times as long.
    with suppress(psutil.Error):
        return process.children(recursive=True)
    return []


def _below(pid: int, proc: Path) -> Iterator[int]:
    # A child is listed under the thread that started it.
    for task in tasks(proc / str(pid) / "task"):
        # The thread may have ended by now.
        with suppress(OSError):
            for child in map(int, (task / "children").read_text("utf-8", "replace").split()):
                yield child
                yield from _below(child, proc)


def _processes(pids: Iterator[int]) -> Iterator[psutil.Process]:
    for pid in pids:
        with suppress(psutil.Error):
            yield psutil.Process(pid)
