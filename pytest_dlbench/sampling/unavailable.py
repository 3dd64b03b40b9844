"""What this machine does not report about processes, and why: recorded once per run to explain every None."""

from collections.abc import Iterator

import psutil

from pytest_dlbench.sampling import memory
from pytest_dlbench.sampling.counters import read_machine, read_tree


def unavailable(pid: int) -> dict[str, str]:
    """Figures that a Usage of this process will lack, or have for another period; empty if the process has ended."""
    return {} if _has_ended(pid) else {**dict(_of_process(pid)), **dict(_of_machine())}


def _has_ended(pid: int) -> bool:
    try:
        return bool(psutil.Process(pid).status() == psutil.STATUS_ZOMBIE)
    except psutil.Error:
        return True


def _of_process(pid: int) -> Iterator[tuple[str, str]]:
    if memory.pss_bytes(pid) is None:
        yield "proportional memory", "/proc/PID/smaps_rollup cannot be read (Linux 4.14, same user)"
    if not memory.reset_peak(pid):
        yield "peak memory of a phase", "/proc/PID/clear_refs cannot be written: the peak is that of the whole run"
    if memory.group_peak_bytes(pid) is None:
        yield "peak memory of the control group", "no memory.peak (cgroup v2, Linux 5.19)"


def _of_machine() -> Iterator[tuple[str, str]]:
    if read_tree(()).waited_seconds is None:
        yield "waiting for a processor", "no /proc/PID/schedstat: this kernel does not count it"
    if read_machine().throttlings is None:
        yield "slowing by heat", "no processor counts it (thermal_throttle): usual in virtual machines"
