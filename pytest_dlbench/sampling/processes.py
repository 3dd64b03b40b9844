"""Processor time and memory of a process and its children, read from outside.

There is no sampling thread: the code that waits for the worker calls ``sample`` while it waits, so that sampling ends
when the wait does. Measured costs: 40 µs for one process, 0.4 to 4 ms for its proportional memory, depending on its
size, and 1 to 2 ms to find its children without the kernel's lists; the latter two are therefore done once a second.
At the start of a phase, children are looked for more often: those of a phase of half a second count, too.
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
# Children are looked for again after this share of the phase so far, and at least once a period.
CHILDREN_SHARE = 0.1
# Reading proportional memory walks all pages of a process, which cannot map new ones meanwhile: spend at most 0.1 % of
# the time on it.
PSS_PAUSE = 1000


class ProcessTree:
    """The processes of one worker, or of all workers of a run, and their children.

    A phase lasts from ``begin`` to ``end``, which returns what was used in it. ``origin`` is the start of the run on
    the monotonic clock.
    """

    def __init__(self, *pids: int, origin: float | None = None) -> None:
        self._roots = [psutil.Process(pid) for pid in pids]
        self._families = [[root] for root in self._roots]
        self._children_read = 0.0
        self._pss_due = 0.0
        self._origin = monotonic() if origin is None else origin
        self._samples: list[Sample] = []
        self._rss_bytes: list[int] = []
        self._family_peaks = [0 for _ in pids]
        self._shares: tuple[tuple[float, int], ...] = ()
        self._pss_bytes: list[int] = []
        self._busy_before = busy_seconds()
        self._began = self._counters()
        self._family_began = self._family_seconds()

    def begin(self) -> None:
        """Start a phase."""
        self._rss_bytes, self._pss_bytes = [], []
        for root in self._roots:
            memory.reset_peak(root.pid)
        self._family_peaks = [0 for _ in self._roots]
        self._began, self._family_began = self._counters(), self._family_seconds()
        self.sample()

    def sample(self) -> None:
        """Read memory and processor time of the tree; a process that has ended counts as 0."""
        now = monotonic()
        if now - self._children_read >= min(CHILDREN_PERIOD_SECONDS, CHILDREN_SHARE * (now - self._began[0])):
            self._find_children()
        if now >= self._pss_due:
            self._read_pss()
        of_families = [sum(map(memory.rss_bytes, family)) for family in self._families]
        if rss := sum(of_families):
            self._rss_bytes.append(rss)
            self._family_peaks = list(map(max, self._family_peaks, of_families))
            cpu = sum(sum(cpu_seconds(process)) for process in self._processes)
            machine = busy_seconds() - self._busy_before
            moment = Sample(seconds=now - self._origin, rss_bytes=rss, cpu_seconds=cpu, machine_seconds=machine)
            self._samples.append(moment)

    def end(self) -> Usage:
        """End the phase; what was used in it."""
        ended = self._counters()
        # After the counters, which have just found all children.
        self._pss_due = 0.0
        self.sample()
        samples = self._rss_bytes or [0]
        pss, peaks = self._pss_bytes, [memory.peak_bytes(root.pid) for root in self._roots]
        files = [found for process in self._processes if (found := memory.file_bytes(process.pid)) is not None]
        seconds = map(float.__sub__, self._family_seconds(), self._family_began)
        self._shares = tuple(zip(seconds, map(max, self._family_peaks, peaks), strict=True))
        return Usage(
            **_processor(self._began, ended),
            began_seconds=self._began[0] - self._origin,
            rss_mean_bytes=round(sum(samples) / len(samples)),
            # Of several workers it is the most that they can have had at once: each one's peak is exact.
            rss_peak_bytes=max(*samples, sum(peaks)),
            samples=len(self._rss_bytes),
            pss_mean_bytes=round(sum(pss) / len(pss)) if pss else None,
            pss_peak_bytes=max(pss, default=None),
            group_peak_bytes=memory.group_peak_bytes(self._roots[0].pid),
            file_peak_bytes=sum(files) if files else None,
            load=os.getloadavg()[0],
        )

    def pids(self) -> tuple[int, ...]:
        """The processes of the tree, as last found."""
        return tuple(process.pid for process in self._processes)

    @property
    def used_seconds(self) -> float:
        """Processor time of the tree at the last sample."""
        return self._samples[-1].cpu_seconds if self._samples else 0.0

    def shares(self) -> tuple[tuple[float, int], ...]:
        """Processor seconds and peak resident bytes of each worker with its children, in the last phase."""
        return self._shares

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

    @property
    def _processes(self) -> list[psutil.Process]:
        return [process for family in self._families for process in family]

    def _family_seconds(self) -> list[float]:
        return [sum(sum(cpu_seconds(process)) for process in family) for family in self._families]

    def _find_children(self) -> None:
        self._children_read = monotonic()
        self._families = [[root, *descendants(root)] for root in self._roots]

    def _counters(self) -> tuple[float, TreeCounters, MachineCounters]:
        self._find_children()
        return monotonic(), read_tree(self._processes), read_machine()


def _processor(
    began: tuple[float, TreeCounters, MachineCounters], ended: tuple[float, TreeCounters, MachineCounters]
) -> dict[str, Any]:
    """The fields of a Usage that are differences between counters."""
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
    # A counter is lower than before if a process that it counted has ended.
    return None if before is None or after is None else max(after - before, type(after)(0))


def _share(part: float, whole: float) -> float:
    return min(1.0, max(0.0, part / whole)) if whole > 0 else 0.0
