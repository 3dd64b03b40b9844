"""Processor time and memory of a process and its children, read from outside.

There is no thread that samples: whoever waits for the worker calls ``sample`` while it waits, so that sampling ends
when the waiting does. Costs here: 40 µs for one process, 0.4 to 4 ms for its proportional memory, by its size, and
without the kernel's lists of children 1 to 2 ms to look for them, which is why these two are done once a second.
"""

import os
from time import monotonic
from typing import Any

import psutil

from pytest_dlbench.records import Timeline, Usage
from pytest_dlbench.sampling import memory
from pytest_dlbench.sampling.counters import (
    MachineCounters,
    TreeCounters,
    busy_seconds,
    cpu_seconds,
    read_machine,
    read_tree,
)
from pytest_dlbench.sampling.descendants import descendants
from pytest_dlbench.sampling.timeline import Sample, thinned

CHILDREN_PERIOD_SECONDS = 1.0
# Reading proportional memory walks through all pages of a process, which can map none meanwhile: at most 0.1 % of the
# time goes there.
PSS_PAUSE = 1000


class ProcessTree:
    """The worker's processes. A phase lasts from ``begin`` to ``end``, which gives what was used in it.

    ``origin`` is the start of the run on the monotonic clock.
    """

    def __init__(self, pid: int, origin: float | None = None) -> None:
        self._root = psutil.Process(pid)
        self._processes = [self._root]
        self._children_read = 0.0
        self._pss_due = 0.0
        self._origin = monotonic() if origin is None else origin
        self._samples: list[Sample] = []
        self._rss_bytes: list[int] = []
        self._pss_bytes: list[int] = []
        self._busy_before = busy_seconds()
        self._began = self._counters()

    def begin(self) -> None:
        """Start a phase."""
        self._rss_bytes, self._pss_bytes = [], []
        memory.reset_peak(self._root.pid)
        self._began = self._counters()
        self.sample()

    def sample(self) -> None:
        """Read memory and processor time of the tree; a process that is gone counts as nothing."""
        now = monotonic()
        if now - self._children_read >= CHILDREN_PERIOD_SECONDS:
            self._find_children()
        if now >= self._pss_due:
            self._read_pss()
        if rss := sum(memory.rss_bytes(process) for process in self._processes):
            self._rss_bytes.append(rss)
            cpu = sum(sum(cpu_seconds(process)) for process in self._processes)
            machine = busy_seconds() - self._busy_before
            moment = Sample(seconds=now - self._origin, rss_bytes=rss, cpu_seconds=cpu, machine_seconds=machine)
            self._samples.append(moment)

    def end(self) -> Usage:
        """Stop the phase."""
        ended = self._counters()
        # After the counters, which have just looked for children: none of them is left out.
        self._pss_due = 0.0
        self.sample()
        samples = self._rss_bytes or [0]
        pss = self._pss_bytes
        return Usage(
            **_processor(self._began, ended),
            began_seconds=self._began[0] - self._origin,
            rss_mean_bytes=round(sum(samples) / len(samples)),
            rss_peak_bytes=max(*samples, memory.peak_bytes(self._root.pid)),
            samples=len(self._rss_bytes),
            pss_mean_bytes=round(sum(pss) / len(pss)) if pss else None,
            pss_peak_bytes=max(pss, default=None),
            group_peak_bytes=memory.group_peak_bytes(self._root.pid),
            load=os.getloadavg()[0],
        )

    def pids(self) -> tuple[int, ...]:
        """The processes of the tree, as they were last looked for."""
        return tuple(process.pid for process in self._processes)

    def timeline(self) -> Timeline:
        """All samples so far, thinned."""
        return thinned(self._samples)

    def _read_pss(self) -> None:
        began = monotonic()
        parts = [memory.pss_bytes(process.pid) for process in self._processes]
        if found := [part for part in parts if part is not None]:
            self._pss_bytes.append(sum(found))
        ended = monotonic()
        self._pss_due = ended + max(CHILDREN_PERIOD_SECONDS, PSS_PAUSE * (ended - began))

    def _find_children(self) -> None:
        self._children_read = monotonic()
        self._processes = [self._root, *descendants(self._root)]

    def _counters(self) -> tuple[float, TreeCounters, MachineCounters]:
        self._find_children()
        return monotonic(), read_tree(self._processes), read_machine()


def _processor(
    began: tuple[float, TreeCounters, MachineCounters], ended: tuple[float, TreeCounters, MachineCounters]
) -> dict[str, Any]:
    """The fields of a Usage that are differences of counters."""
    wall = ended[0] - began[0]
    before, after = began[1], ended[1]
    tree = {name: _difference(getattr(before, name), getattr(after, name)) for name in TreeCounters.__slots__}
    return {"wall_seconds": wall, **tree, **_machine(began[2], ended[2], wall, tree)}


def _machine(before: MachineCounters, after: MachineCounters, wall: float, tree: dict[str, Any]) -> dict[str, Any]:
    def mean_cpus(seconds: float) -> float:
        return max(seconds, 0.0) / max(wall, 1e-9)

    ours = (tree["user_seconds"] or 0.0) + (tree["system_seconds"] or 0.0)
    active = zip(before.core_busy_seconds, after.core_busy_seconds, strict=False)
    total = zip(before.core_seconds, after.core_seconds, strict=False)
    pairs = zip(active, total, strict=True)
    return {
        "foreign_cpus": mean_cpus(after.busy_seconds - before.busy_seconds - ours),
        "iowait_cpus": mean_cpus(after.iowait_seconds - before.iowait_seconds),
        "steal_cpus": mean_cpus(after.steal_seconds - before.steal_seconds),
        "core_use": tuple(_share(busy[1] - busy[0], all_[1] - all_[0]) for busy, all_ in pairs),
        "swapped_in_bytes": after.swapped_in_bytes - before.swapped_in_bytes,
        "throttlings": _difference(before.throttlings, after.throttlings),
    }


def _difference(before: Any, after: Any) -> Any:
    # Less than before: what had counted is gone.
    return None if before is None or after is None else max(after - before, type(after)(0))


def _share(part: float, whole: float) -> float:
    return min(1.0, max(0.0, part / whole)) if whole > 0 else 0.0
