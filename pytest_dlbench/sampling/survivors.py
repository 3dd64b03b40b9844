"""Processes that outlive their worker or their driver, found by variables that all processes of a run inherit.

A child that starts its own session leaves the worker's process group, and one whose parent has ended leaves the
worker's tree, but neither loses its environment. As a program (``survivors.py DRIVER``), this waits until the driver
at the other end of its input ends, and kills what the driver left running. Standard library only: it has to start in
milliseconds.
"""

import os
import shutil
import signal
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from time import monotonic, sleep

RUN, DRIVER = "DLBENCH_RUN", "DLBENCH_DRIVER"
# Of the temporary folders of runs; RUN is the name of one.
PREFIX = "dlbench-run-"
PROC = Path("/proc")
END_SECONDS = 5.0
# What ends with its worker, such as the process with which Python's multiprocessing tracks resources, takes a moment.
LAST_SECONDS = 0.2
# Processes that fork while they are searched for are found by the next search.
SEARCHES = 20
ENDED_WELL = b"."


def driver_id(proc: Path = PROC) -> str:
    """The value of DRIVER for workers of this process: ``NAMESPACE:PID:START``; empty without /proc.

    The time when it started, in ticks, distinguishes it from a later process with the same process id; the namespace
    says which processes have such ids at all.
    """
    started = _started(proc / "self")
    return f"{_namespace(proc)}:{os.getpid()}:{started}" if started else ""


@contextmanager
def none_survives(run: str) -> Iterator[list[str]]:
    """Kills the processes of the run that stay alive after the block; the list then has their names."""
    ended: list[str] = []
    try:
        yield ended
    finally:
        _wait_for(run)
        ended += end_survivors(run)


def _wait_for(run: str, proc: Path = PROC) -> None:
    """Wait up to LAST_SECONDS until no process of the run is left."""
    deadline = monotonic() + LAST_SECONDS
    while (proc / "self/environ").exists() and _found(lambda variables: variables.get(RUN) == run, proc):
        if monotonic() > deadline:
            return
        sleep(0.005)


def _found(is_meant: Callable[[Mapping[str, str]], bool], proc: Path) -> list[int]:
    return [pid for pid in _others(proc) if is_meant(_variables(proc / str(pid)))]


def end_survivors(run: str, proc: Path = PROC) -> tuple[str, ...]:
    """Kill every process of a run; returns their names."""
    return tuple(_end_all(lambda variables: variables.get(RUN) == run, proc).values())


def end_workers_of(driver: str, proc: Path = PROC) -> Mapping[int, str]:
    """Kill every process of a driver's runs; returns their names by process id."""
    return _end_all(lambda variables: variables.get(DRIVER) == driver, proc)


def end_orphans(proc: Path = PROC) -> Mapping[int, str]:
    """Kill the processes of runs whose driver has ended without ending them; returns their names by process id.

    Workers of live drivers are left alone, and so are those of other containers, whose drivers are not visible.
    """
    here = _namespace(proc)
    return _end_all(lambda variables: _is_orphan(variables.get(DRIVER, ""), here, proc), proc)


def _is_orphan(driver: str, here: str, proc: Path) -> bool:
    namespace, _, process = driver.partition(":")
    pid, _, started = process.partition(":")
    return bool(started) and namespace == here and _started(proc / pid) != started


def _namespace(proc: Path) -> str:
    try:
        return str((proc / "self/ns/pid").readlink()).removeprefix("pid:").strip("[]")
    except OSError:
        return "unknown"


def _started(process: Path) -> str:
    """When a process started, in ticks since the machine's start; empty if it has ended, also as a zombie."""
    try:
        # The second field, the name of the program, may have spaces and brackets.
        state, *fields = (process / "stat").read_text("utf-8", errors="replace").rpartition(")")[2].split()
    except (OSError, ValueError):
        return ""
    return "" if state in "ZXx" else fields[18]


def _end_all(is_meant: Callable[[Mapping[str, str]], bool], proc: Path) -> dict[int, str]:
    """Kill them and remove the folders of their runs."""
    ended: dict[int, str] = {}
    folders: set[Path] = set()
    if not (proc / "self/environ").exists():
        return ended
    for _ in range(SEARCHES):
        # Not those again that the kernel does not let go.
        found = [pid for pid in _found(is_meant, proc) if pid not in ended]
        if not found:
            break
        ended |= {pid: _name(proc / str(pid)) for pid in found}
        folders |= {folder for pid in found if (folder := _folder(proc / str(pid)))}
        _kill(found, proc)
    for folder in folders:
        shutil.rmtree(folder, ignore_errors=True)
    return ended


def _others(proc: Path) -> list[int]:
    with os.scandir(proc) as entries:
        pids = [int(entry.name) for entry in entries if entry.name.isdecimal()]
    return [pid for pid in pids if pid != os.getpid()]


def _variables(process: Path) -> dict[str, str]:
    """RUN and DRIVER of a process; none if it has ended (a zombie has no environment) or is another user's."""
    try:
        entries = (process / "environ").read_bytes().split(b"\0")
    except OSError:
        return {}
    ours = (entry.partition(b"=") for entry in entries if entry.startswith((RUN.encode(), DRIVER.encode())))
    return {name.decode(): value.decode(errors="replace") for name, _, value in ours}


def _folder(process: Path) -> Path | None:
    """The temporary folder of a run, in which its worker was started; None if that is not this user's."""
    run = _variables(process).get(RUN, "")
    try:
        folder = (process / "cwd").readlink()
        is_ours = folder.stat().st_uid == os.geteuid()
    except OSError:
        return None
    return folder if is_ours and run.startswith(PREFIX) and folder.name == run else None


def _name(process: Path) -> str:
    try:
        return (process / "comm").read_text("utf-8", errors="replace").strip()
    except OSError:
        return "a process"


def _kill(pids: list[int], proc: Path) -> None:
    """Kill, and wait up to END_SECONDS until they have ended."""
    for pid in pids:
        with suppress(ProcessLookupError, PermissionError):
            os.kill(pid, signal.SIGKILL)
    deadline = monotonic() + END_SECONDS
    while any(_started(proc / str(pid)) for pid in pids) and monotonic() < deadline:
        sleep(0.002)


def _guard(driver: str) -> None:
    """Wait for the end of the input: after ENDED_WELL there is nothing to do."""
    # What ends the driver must not end this before it has cleaned up.
    for name in ("SIGINT", "SIGTERM", "SIGHUP"):
        signal.signal(getattr(signal, name), signal.SIG_IGN)
    if sys.stdin.buffer.read() != ENDED_WELL:
        end_workers_of(driver)


if __name__ == "__main__":
    _guard(sys.argv[1])
