"""What all ways to execute runs have in common: lease a host, run on it, and either release it or lose it."""

from collections.abc import Sequence
from contextlib import AbstractContextManager
from random import Random
from typing import Protocol

from pytest_dlbench.errors import DlbenchError
from pytest_dlbench.records import Machine, MachineSpeed, Run
from pytest_dlbench.records.problems import MachineLost
from pytest_dlbench.running.progress import Progress
from pytest_dlbench.running.run_hooks import RunHooks
from pytest_dlbench.running.run_spec import RunSpec

# How often a run is repeated on another host after its host was lost.
MOST_MOVES = 2


class MachineLostError(Exception):
    """A leased host does not answer any more: its name in records, and in its engine; empty if there was none left."""

    def __init__(self, problem: MachineLost, node: str = "") -> None:
        super().__init__(problem)
        self.problem, self.host, self.node = problem, problem.host, node


class UnfitHostError(DlbenchError):
    """A host that cannot make runs as it is: its name in records, and in its engine."""

    def __init__(self, message: str, host: str, node: str) -> None:
        super().__init__(message)
        self.host, self.node = host, node


class Host(Protocol):
    """A leased host. Its methods raise MachineLostError."""

    @property
    def name(self) -> str:
        """Its name in records; empty for the driver's own machine."""
        ...

    @property
    def specs(self) -> Sequence[RunSpec]:
        """The specs that it was leased for, with their places and devices on this host."""
        ...

    def train(self, spec: RunSpec, index: int, hooks: RunHooks) -> Run:
        """One run, as ``training.train_once``."""
        ...

    def train_pair(
        self, first: RunSpec, second: RunSpec, index: int, order: Random, hooks: Sequence[RunHooks]
    ) -> tuple[Run, ...]:
        """A pair whose steps alternate, as ``alternating.train_pair``."""
        ...


class Hosts(Protocol):
    """Hosts of one machine class."""

    @property
    def machine(self) -> Machine:
        """Their machine class."""
        ...

    @property
    def leased(self) -> str:
        """The name of the host that is leased now; empty without a lease, and for the driver's own machine."""
        ...

    def lease(
        self, specs: Sequence[RunSpec], progress: Progress, lost: frozenset[str] = frozenset()
    ) -> AbstractContextManager[Host]:
        """A host for one case, with nothing else on it in this block; not one of the nodes that were ``lost``.

        Raises DeviceBusyError, and MachineLostError if the host is lost first or no other one is left.
        """
        ...

    def speed(self, threads: int, precision: str) -> MachineSpeed | None:
        """The speed of the host that is leased now; None if it cannot be measured."""
        ...

    def core_variation(self) -> float | None:
        """By how much the speed of its cores varies, measured for two seconds; None if it cannot be measured."""
        ...
