"""Processes that outlive their worker, found by an environment variable that all processes of a run inherit."""

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import psutil

VARIABLE = "DLBENCH_RUN"
END_SECONDS = 5.0


@contextmanager
def none_survives(run: str) -> Iterator[list[str]]:
    """Kills the processes of the run that are still alive after the block; the list then has their names."""
    ended: list[str] = []
    try:
        yield ended
    finally:
        ended += end_survivors(run)


def end_survivors(run: str, proc: Path = Path("/proc")) -> tuple[str, ...]:
    """Kill every process whose VARIABLE is ``run``; returns their names.

    A child that starts its own session leaves the worker's process group, and one whose parent has ended leaves the
    worker's tree, but neither loses its environment.
    """
    if not (proc / "self/environ").exists():
        return ()
    found = [pid for pid in psutil.pids() if pid != os.getpid() and _is_of(proc / str(pid) / "environ", run)]
    return tuple(name for name in map(_end, found) if name)


def _is_of(environ: Path, run: str) -> bool:
    try:
        return f"{VARIABLE}={run}".encode() in environ.read_bytes().split(b"\0")
    except OSError:
        return False


def _end(pid: int) -> str:
    with suppress(psutil.Error):
        process = psutil.Process(pid)
        name = process.name()
        process.send_signal(signal.SIGKILL)
        with suppress(psutil.TimeoutExpired):
            process.wait(END_SECONDS)
        return name
    return ""
