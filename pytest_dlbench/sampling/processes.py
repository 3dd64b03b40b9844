"""Processor time and resident memory of a process and its children, read from outside.

There is no thread that samples: whoever waits for the worker calls ``sample`` while it waits, so that sampling ends
when the waiting does. Costs here: 20 µs for the memory of one process, 3 ms to look for children (all of /proc), which
is why that is done once a second.
"""

import re
from pathlib import Path
from time import monotonic

import psutil

from pytest_dlbench.records import Usage

CHILDREN_PERIOD_SECONDS = 1.0


class ProcessTree:
    """The worker's processes. A phase lasts from ``begin`` to ``end``, which gives what was used in it."""

    def __init__(self, pid: int) -> None:
        self._root = psutil.Process(pid)
        self._processes = [self._root]
        self._children_read = 0.0
        self._rss_bytes: list[int] = []
        self._began = (0.0, 0.0, 0.0, 0.0)

    def begin(self) -> None:
        """Start a phase."""
        self._rss_bytes = []
        self._began = self._counters()
        self.sample()

    def sample(self) -> None:
        """Read the resident memory of the tree; a process that is gone counts as nothing."""
        if monotonic() - self._children_read >= CHILDREN_PERIOD_SECONDS:
            self._find_children()
        if rss_bytes := sum(_rss_bytes(process) for process in self._processes):
            self._rss_bytes.append(rss_bytes)

    def end(self) -> Usage:
        """Stop the phase."""
        wall, user, system, busy = (now - then for now, then in zip(self._counters(), self._began, strict=True))
        # After the counters, which have just looked for children: none of them is left out.
        self.sample()
        samples = self._rss_bytes or [0]
        return Usage(
            wall_seconds=wall,
            user_seconds=max(user, 0.0),
            system_seconds=max(system, 0.0),
            rss_mean_bytes=round(sum(samples) / len(samples)),
            rss_peak_bytes=max(*samples, _kernel_peak_bytes(self._root.pid)),
            samples=len(self._rss_bytes),
            foreign_cpus=max(busy - user - system, 0.0) / max(wall, 1e-9),
        )

    def _find_children(self) -> None:
        self._children_read = monotonic()
        try:
            self._processes = [self._root, *self._root.children(recursive=True)]
        except psutil.Error:
            self._processes = [self._root]

    def _counters(self) -> tuple[float, float, float, float]:
        """Now, and the seconds so far: user and system of the tree, and all that this machine's processors were busy.

        The tree's are those of live processes, and of the children they have waited for.
        """
        self._find_children()
        user = system = 0.0
        for process in self._processes:
            try:
                times = process.cpu_times()
            except psutil.Error:
                continue
            user += times.user + getattr(times, "children_user", 0.0)
            system += times.system + getattr(times, "children_system", 0.0)
        return monotonic(), user, system, _busy_seconds()


def _rss_bytes(process: psutil.Process) -> int:
    try:
        return int(process.memory_info().rss)
    except psutil.Error:
        return 0


def _busy_seconds() -> float:
    """What all processors have worked, for whomever; what a hypervisor took away counts, too."""
    times = psutil.cpu_times()
    return float(
        times.user + times.system + sum(getattr(times, name, 0.0) for name in ("nice", "irq", "softirq", "steal"))
    )


def _kernel_peak_bytes(pid: int) -> int:
    """VmHWM: the highest resident memory since this program was started, spikes between two samples included.

    Not ru_maxrss, which a child inherits from its parent across exec. 0 where the kernel has no such file.
    """
    try:
        found = re.search(r"^VmHWM:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text(), re.MULTILINE)
    except OSError:
        return 0
    return int(found[1]) * 1024 if found else 0
