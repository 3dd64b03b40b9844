"""Waiting for a device that another session uses: for whom, how long, and what is said about it."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from math import inf

REPORT_SECONDS = 60.0


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
