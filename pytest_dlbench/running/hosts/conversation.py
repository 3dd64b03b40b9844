"""What a driver and the process that makes its runs on a leased host say to each other, one line of JSON each.

The driver sends requests, answers to what it was asked, and beats; the host sends events, replies and beats. Specs
travel as pickles, from the driver to a process of its own only: nothing that comes from a host is executed.
"""

import base64
import pickle
import platform
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

import msgspec

from pytest_dlbench.records.problems import Problem

# A side that has heard nothing from the other for SILENCE_SECONDS takes it for lost: then the driver repeats the run
# elsewhere, and the host ends it. Both within 15 s.
BEAT_SECONDS = 2.0
SILENCE_SECONDS = 12.0
BEAT = b'{"op":"beat"}\n'
# Ends the worker of a run that is being made: those on other hosts have failed. Understood at any time.
CANCEL = b'{"op":"cancel"}\n'
# The module that a host runs.
MODULE = "pytest_dlbench.running.hosts.serving"


class Channel(Protocol):
    """The lines of a process on a leased host. All methods but ``send`` are called by one thread."""

    @property
    def name(self) -> str:
        """The host, for people."""
        ...

    @property
    def node(self) -> str:
        """The host, for its engine."""
        ...

    def send(self, line: bytes) -> None:
        """Send a line, which is lost if the host is: ``receive`` reports that."""
        ...

    def receive(self, seconds: float) -> bytes | None:
        """The next line, None if there is none within that time; raises MachineLostError and ServerEndedError."""
        ...


class ServerEndedError(Exception):
    """The process on the host has ended, though the host has not; the message has its last output."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Greeting:
    """What the driver is: a host must have the same version of this package, and of Python up to the last number."""

    version: str
    path: tuple[str, ...]
    """Where modules of the user are found, which specs may name."""
    python: str = platform.python_version()


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """How environments are found on a host."""

    builds: bool = False
    pythons: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Placed:
    """Where a spec runs on a host; ``lack`` and ``reason`` if it cannot."""

    python: str = ""
    environment: str = ""
    caches: str = ""
    variables: Mapping[str, str] = field(default_factory=dict)
    requirements: tuple[str, ...] = ()
    lack: str = ""
    reason: str = ""
    gpu: str = ""
    cores: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """The answer to a worker's packages: why they must not be measured, None if they may be."""

    problem: Problem | None = None


def line(op: str, *sent: Any, **fields: Any) -> bytes:
    """A request; ``sent`` are pickled."""
    packed = {"sent": base64.b64encode(pickle.dumps(sent)).decode()} if sent else {}
    return msgspec.json.encode({"op": op, **packed, **fields}) + b"\n"


def unpacked(request: Mapping[str, Any]) -> tuple[Any, ...]:
    """What a driver sent to its own process."""
    found: tuple[Any, ...] = pickle.loads(base64.b64decode(request["sent"]))
    return found
