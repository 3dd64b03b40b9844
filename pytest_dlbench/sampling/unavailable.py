"""What this machine does not tell of processes, and why: said once a run, so that nobody has to guess at a None."""

from collections.abc import Iterator

import psutil

from pytest_dlbench.sampling import memory
from pytest_dlbench.sampling.counters import read_machine, read_tree


def untold(pid: int) -> dict[str, str]:
    """Figures that a Usage of this process will not have, or has of another length of time; of one gone, nothing."""
    return {} if _is_gone(pid) else {**dict(_of_process(pid)), **dict(_of_machine())}


def _is_gone(pid: int) -> bool:
    try:
        return bool(psutil.Process(pid).status() == psutil.STATUS_ZOMBIE)
    except psutil.Error:
        return True


def _of_process(pid: int) -> Iterator[tuple[str, str]]:
    if memory.pss_bytes(pid) is None:
        yield "proportional memory", "/proc/PID/smaps_rollup cannot be read (Linux 4.14, same user)"
    if not memory.reset_peak(pid):
        yield "peak memory of a phase", "/proc/PID/clear_refs cannot be written: the kernel's peak is of the whole run"
    if memory.group_peak_bytes(pid) is None:
        yield "peak memory of the control group", "no memory.peak (version 2 of control groups, Linux 5.19)"


def _of_machine() -> Iterator[tuple[str, str]]:
    if read_tree(()).waited_seconds is None:
        yield "waiting for a processor", "no /proc/PID/schedstat: this kernel does not count it"
    if read_machine().throttlings is None:
        yield "slowing by heat", "no processor counts it (thermal_throttle): usual in virtual machines"
