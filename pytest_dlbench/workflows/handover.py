"""What tests would measure, handed over to a command of ``dlbench`` that measures it in its own way."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

from pytest_dlbench.environments import Framework
from pytest_dlbench.planning.sides import Side
from pytest_dlbench.running.progress import Progress
from pytest_dlbench.running.run_spec import RunSpec
from pytest_dlbench.workflows.session import Session


@dataclass(frozen=True, slots=True, kw_only=True)
class Handed:
    """A case of the test ``node``; ``spec_of`` says how a side of it is run, and raises DlbenchError."""

    session: Session
    node: str
    tolerance: Mapping[str, float]
    framework: Framework
    spec_of: Callable[[Side], RunSpec]


class Taker(Protocol):
    """Registered as the plugin ``hookspecs.TAKER`` of pytest, it gets every case in place of the test's measurement."""

    @property
    def progress(self) -> Progress:
        """What environments that are built are reported to."""

    def take(self, handed: Handed) -> None:
        """Take a case; its test ends."""
