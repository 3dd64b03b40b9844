"""Waiting for a device that another session uses: for whom, and how long."""

from collections.abc import Callable
from dataclasses import dataclass
from math import inf
from time import monotonic

from pytest_dlbench.records.problems import DeviceBusy, Holder

REPORT_SECONDS = 60.0
# A free host of a cluster is leased in less.
SOON_SECONDS = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Wait:
    """A case waits for its device: for whom, how long by now, and at most how long."""

    device: str
    holders: tuple[Holder, ...]
    seconds: float
    limit_seconds: float = inf


@dataclass(frozen=True, slots=True, kw_only=True)
class Patience:
    """How long to wait for a device, and who is notified: once waiting begins, and every REPORT_SECONDS."""

    waiting: Callable[[Wait], None]
    limit_seconds: float = inf


class DeviceBusyError(Exception):
    """A device did not become free in time."""

    def __init__(self, wait: Wait) -> None:
        super().__init__(wait.device)
        self.wait = wait

    @property
    def problem(self) -> DeviceBusy:
        """What a run reports that did not get the device."""
        wait = self.wait
        return DeviceBusy(device=wait.device, limit_seconds=wait.limit_seconds, holders=wait.holders)


class QueuedWait:
    """A wait for a host of a cluster, from now on. Whom it is for only the cluster knows."""

    def __init__(self, device: str, patience: Patience) -> None:
        self._device, self._patience, self._began = device, patience, monotonic()
        self._report = self._began + SOON_SECONDS
        self._give_up = self._began + max(patience.limit_seconds, SOON_SECONDS)

    def check(self) -> None:
        """Report the wait if it is time to; raises DeviceBusyError if it has been too long."""
        now = monotonic()
        wait = Wait(
            device=self._device, holders=(), seconds=now - self._began, limit_seconds=self._patience.limit_seconds
        )
        if now >= self._give_up:
            raise DeviceBusyError(wait)
        if now >= self._report:
            self._patience.waiting(wait)
            self._report = now + REPORT_SECONDS
