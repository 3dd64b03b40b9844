"""Cumulative counters of a process tree and of the machine: a phase's usage is the difference of two readings."""

import os
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import psutil

PROC = Path("/proc")
PROCESSORS = Path("/sys/devices/system/cpu")
# Positions in /proc/PID/stat after the name, which may contain spaces: faults of the process, and of the children that
# it has waited for.
MINOR_FAULTS, MAJOR_FAULTS = (7, 8), (9, 10)


@dataclass(frozen=True, slots=True, kw_only=True)
class TreeCounters:
    """Counters of live processes and of the children they have waited for; None where this system does not count.

    ``waited_seconds`` is how long threads were ready to run but had no processor. It and ``involuntary_switches`` do
    not include threads that have ended.
    """

    user_seconds: float = 0.0
    system_seconds: float = 0.0
    waited_seconds: float | None = None
    involuntary_switches: int | None = None
    minor_faults: int | None = None
    major_faults: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MachineCounters:
    """Counters of all processors together and of each core, since the machine booted."""

    busy_seconds: float
    iowait_seconds: float
    steal_seconds: float
    core_busy_seconds: tuple[float, ...]
    core_seconds: tuple[float, ...]
    swapped_in_bytes: int
    throttlings: int | None


def cpu_seconds(process: psutil.Process) -> tuple[float, float]:
    """User and system seconds of a process and of the children it has waited for; 0 if the process has ended."""
    try:
        times = process.cpu_times()
    except psutil.Error:
        return 0.0, 0.0
    return times.user + getattr(times, "children_user", 0.0), times.system + getattr(times, "children_system", 0.0)


def read_tree(processes: Iterable[psutil.Process], proc: Path = PROC) -> TreeCounters:
    """All counters of these processes now; a process that has ended counts as 0."""
    processes = list(processes)
    user, system = (sum(seconds) for seconds in zip((0.0, 0.0), *map(cpu_seconds, processes), strict=True))
    if not (proc / "self/stat").exists():
        return TreeCounters(user_seconds=user, system_seconds=system)
    faults = [_faults(proc / str(process.pid) / "stat") for process in processes]
    threads = [_task(task) for process in processes for task in tasks(proc / str(process.pid) / "task")]
    counts_waiting = (proc / "self/schedstat").exists()
    return TreeCounters(
        user_seconds=user,
        system_seconds=system,
        minor_faults=sum(minor for minor, _ in faults),
        major_faults=sum(major for _, major in faults),
        waited_seconds=sum(waited for waited, _ in threads) if counts_waiting else None,
        involuntary_switches=sum(switches for _, switches in threads),
    )


def _faults(stat: Path) -> tuple[int, int]:
    try:
        fields = stat.read_text("utf-8", "replace").rpartition(")")[2].split()
    except OSError:
        return 0, 0
    minor, major = (sum(int(fields[position]) for position in kind) for kind in (MINOR_FAULTS, MAJOR_FAULTS))
    return minor, major


def tasks(folder: Path) -> list[Path]:
    """The threads under /proc/PID/task; empty if the process has ended."""
    try:
        return list(folder.iterdir())
    except OSError:
        return []


def _task(folder: Path) -> tuple[float, int]:
    """Seconds that a thread waited for a processor, and how often it was preempted."""
    waited, switches = 0.0, 0
    # A thread may end between two reads.
    with suppress(OSError, IndexError):
        waited = int((folder / "schedstat").read_text("utf-8", "replace").split()[1]) / 1e9
    with suppress(OSError):
        lines = (folder / "status").read_text("utf-8", "replace").splitlines()
        switches = sum(int(line.split()[1]) for line in lines if line.startswith("nonvoluntary_ctxt_switches:"))
    return waited, switches


def read_machine(proc: Path = PROC, processors: Path = PROCESSORS) -> MachineCounters:
    """The counters of all processors, for all processes."""
    cores = psutil.cpu_times(percpu=True)
    busy = tuple(_busy(times) for times in cores)
    steal = sum(getattr(times, "steal", 0.0) for times in cores)
    iowait = sum(getattr(times, "iowait", 0.0) for times in cores)
    idle = (times.idle + getattr(times, "iowait", 0.0) for times in cores)
    return MachineCounters(
        busy_seconds=sum(busy),
        iowait_seconds=iowait,
        steal_seconds=steal,
        core_busy_seconds=busy,
        core_seconds=tuple(active + waiting for active, waiting in zip(busy, idle, strict=True)),
        swapped_in_bytes=_swapped_in_bytes(proc / "vmstat"),
        throttlings=_throttlings(processors),
    )


def busy_seconds() -> float:
    """How long all processors together have been busy since the machine booted, for all processes."""
    return _busy(psutil.cpu_times())


def _busy(times: object) -> float:
    """How long a processor has been busy, including time stolen by the hypervisor."""
    names = ("user", "system", "nice", "irq", "softirq", "steal")
    return float(sum(getattr(times, name, 0.0) for name in names))


def _swapped_in_bytes(vmstat: Path) -> int:
    try:
        lines = vmstat.read_text("utf-8", "replace").splitlines()
    except OSError:
        return 0
    pages = next((int(line.split()[1]) for line in lines if line.startswith("pswpin ")), 0)
    return pages * os.sysconf("SC_PAGE_SIZE")


def _throttlings(processors: Path) -> int | None:
    """How often processors were throttled because of heat; None where they do not count it."""
    counts = [_number(file) for file in processors.glob("cpu[0-9]*/thermal_throttle/core_throttle_count")]
    known = [count for count in counts if count is not None]
    return sum(known) if known else None


def _number(file: Path) -> int | None:
    try:
        return int(file.read_text("utf-8", "replace"))
    except (OSError, ValueError):
        return None
