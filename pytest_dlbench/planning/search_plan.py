"""What a case that searches for a network runs, whatever engine searches."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Protocol

from pytest_dlbench.data import Dataset
from pytest_dlbench.environments import Device, Framework
from pytest_dlbench.planning.plan import RunSettings
from pytest_dlbench.planning.search_space import Setting
from pytest_dlbench.records import Context
from pytest_dlbench.running.run_spec import RunSpec

Cell = tuple[Framework, Dataset, Device]

# A trial that keeps one processor busy takes as many seconds of a clock as of processor time; on a busy machine more.
PATIENCE = 2.0


class Point(Protocol):
    """One network of a space, and how it is trained."""

    @property
    def settings(self) -> Mapping[str, Setting]:
        """By name, as records have them; empty as long as the engine has not said them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchPlan(ABC):
    """A case of one engine with one budget: it has a search for every seed.

    ``space`` is the name of what it searches. ``first`` is the spec of a run on all of the training part, under the
    name of the case: it has the reason if the case cannot run.
    """

    settings: RunSettings
    engine: str
    space: str
    dataset: Dataset
    device: Device
    budget_seconds: float
    epochs: int
    label: str
    first: RunSpec

    @property
    def context(self) -> Context:
        """What must be the same before figures are compared: the space in place of a network and its recipe."""
        alike = self.settings.context(self.first)
        return replace(alike, network_digest=self.space_digest, batch_size=None, steps=0, recipe_steps=None)

    @property
    def recipe(self) -> dict[str, Any]:
        """What the trials have in common, as JSON."""
        return {"space": self.space_json, "epochs": self.epochs, "budget_seconds": self.budget_seconds}

    @property
    @abstractmethod
    def space_digest(self) -> str:
        """Another one for another space."""

    @property
    @abstractmethod
    def space_json(self) -> dict[str, Any]:
        """The space, as JSON."""

    @abstractmethod
    def trial(self, point: Point, seed: int, number: int, left_seconds: float) -> RunSpec:
        """A trial, which is validated rather than timed: checks of its times would take a part of the budget."""

    @abstractmethod
    def winner(self, point: Point, seed: int) -> RunSpec:
        """The best trial's network, trained on all of the training part, and tested."""

    def timeout(self, left_seconds: float) -> float:
        """After how many seconds of a clock a trial is ended that has so much processor time left."""
        return min(self.first.timeout_seconds, PATIENCE * left_seconds)

    def name(self, seed: int, what: str) -> str:
        """What begins the ID of one of its runs."""
        return f"{self.label}-{self.engine}-{self.budget_seconds:g}s-seed{seed}-{what}"
