"""Memory of processes: resident, proportional, and the peaks that the kernel itself records."""

import re
from pathlib import Path

import psutil

PROC = Path("/proc")
GROUPS = Path("/sys/fs/cgroup")


def rss_bytes(process: psutil.Process) -> int:
    """Resident memory now; 0 if the process has ended."""
    try:
        return int(process.memory_info().rss)
    except psutil.Error:
        return 0


def pss_bytes(pid: int) -> int | None:
    """Resident memory, shared pages divided among the processes that share them; None where it cannot be read."""
    return _kilobytes(PROC / str(pid) / "smaps_rollup", "Pss")


def peak_bytes(pid: int) -> int:
    """VmHWM: peak resident memory since the program started, or since ``reset_peak``.

    Not ru_maxrss, which a child inherits from its parent across exec. 0 where the kernel has no such file.
    """
    return _kilobytes(PROC / str(pid) / "status", "VmHWM") or 0


def file_bytes(pid: int) -> int | None:
    """RssFile: resident pages of mapped files, such as libraries; None before Linux 4.5, and for a process that ended.

    It depends on the page cache, because a fault maps cached neighbours of a page, too.
    """
    return _kilobytes(PROC / str(pid) / "status", "RssFile")


def reset_peak(pid: int) -> bool:
    """Reset the kernel's peak to what is resident now; whether that worked."""
    try:
        # 5 resets the peak and nothing else; other numbers clear the referenced bits of pages.
        (PROC / str(pid) / "clear_refs").write_text("5", "utf-8")
    except OSError:
        return False
    return True


def group_peak_bytes(pid: int, proc: Path = PROC, groups: Path = GROUPS) -> int | None:
    """Peak memory of the process's control group (cgroup v2) since the group was created; None without one."""
    try:
        lines = (proc / str(pid) / "cgroup").read_text("utf-8", "replace").splitlines()
        path = next(line.removeprefix("0::") for line in lines if line.startswith("0::"))
        return int((group_folder(groups, path) / "memory.peak").read_text("utf-8", "replace"))
    except (OSError, ValueError, StopIteration):
        return None


def group_folder(mount: Path, path: str) -> Path:
    """The folder of a control group; inside a container, the mount itself is the group that the kernel names."""
    folder = mount / path.lstrip("/")
    return folder if folder.is_dir() else mount


def _kilobytes(file: Path, name: str) -> int | None:
    try:
        found = re.search(rf"^{name}:\s+(\d+) kB", file.read_text("utf-8", "replace"), re.MULTILINE)
    except OSError:
        return None
    return int(found[1]) * 1024 if found else None
