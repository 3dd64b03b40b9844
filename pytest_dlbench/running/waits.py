"""Waiting for a device that another session uses: for whom, how long, and what is said about it."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from math import inf
from time import monotonic

REPORT_SECONDS = 60.0
# A free host of a cluster is leased in less.
SOON_SECONDS = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Holder:
    """Who uses a device, and since when (in seconds since 1970); ``command`` is shortened."""

    user: str
    pid: int
    command: str
    since: float


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


def busy(wait: Wait) -> str:
    """Who kept a device for too long."""
    asked = f"within {wait.limit_seconds:g} s" if wait.limit_seconds else "at once"
    return f"{wait.device} did not become free {asked}: {users(wait)}; --dlbench-wait=TIME waits longer"


def users(wait: Wait) -> str:
    """Who uses the device."""
    return "; ".join(map(_user, wait.holders)) or "another session uses it, whose name is not known"


def _user(holder: Holder) -> str:
    since = datetime.fromtimestamp(holder.since).astimezone()
    return f"{holder.user} uses it since {since:%d %b %H:%M:%S} (process {holder.pid}: {holder.command})"
