"""Searches by AutoKeras, among its own networks, which it trains in Keras: each trial is a run of a program."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import ceil
from pathlib import Path
from typing import Any, Self

from pytest_dlbench.data import Dataset
from pytest_dlbench.data.held_out import validated
from pytest_dlbench.environments import Framework
from pytest_dlbench.environments.placing import PlacesElsewhere
from pytest_dlbench.planning.plan import RunSettings
from pytest_dlbench.planning.programs import program_spec
from pytest_dlbench.planning.search_plan import Cell, Point, SearchPlan
from pytest_dlbench.planning.search_space import Setting
from pytest_dlbench.records import Case, Program
from pytest_dlbench.running.launch import WORKER_FOLDER
from pytest_dlbench.running.run_spec import ProgramSpec

AUTOKERAS = "autokeras"
# The folder of the program, and its name as a module.
ENGINES = WORKER_FOLDER / "dlworker" / "engines"
PROGRAM = "dlworker.engines.autokeras_trials"
# As in that program: AutoKeras' own default.
BATCH_SIZE = 32
# What it searches: its convolutional blocks for images, its dense blocks for vectors.
SPACES = {True: "autokeras-vanilla", False: "autokeras-dense"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """The network of a trial, whose settings AutoKeras writes into the ``folder`` of its search when it proposes it."""

    folder: Path
    number: int

    @property
    def settings(self) -> Mapping[str, Setting]:
        """By AutoKeras' own names; empty if it proposed none."""
        file = self.folder / f"settings-{self.number}.json"
        return json.loads(file.read_bytes()) if file.exists() else {}


@dataclass(frozen=True, slots=True, kw_only=True)
class AutoKerasSearch(SearchPlan):
    """A case that AutoKeras searches; ``first`` has no settings yet."""

    first: ProgramSpec

    @classmethod
    def of(
        cls,
        settings: RunSettings,
        cell: Cell,
        *,
        budget_seconds: float,
        epochs: int,
        label: str,
    ) -> Self:
        """The case of one cell."""
        framework, dataset, device = cell
        space = SPACES[len(dataset.shape) > 1]
        name = f"{label}-{AUTOKERAS}-{budget_seconds:g}s"
        case = replace(
            settings.case(name, framework, (space, dataset.name), device, ()),
            settings={"engine": AUTOKERAS, "budget_seconds": budget_seconds},
        )
        framework = replace(framework.searched_by(AUTOKERAS), unsupported=_refusal(settings, framework))
        spec = _spec(settings, (framework, dataset, device), "build_winner", {}, epochs)
        return cls(
            settings=settings,
            engine=AUTOKERAS,
            space=space,
            dataset=dataset,
            device=device,
            budget_seconds=budget_seconds,
            epochs=epochs,
            label=label,
            first=replace(spec, case=case, purpose="search"),
        )

    @property
    def space_digest(self) -> str:
        """The name of the space; which version of AutoKeras has it is among the versions of its runs."""
        return self.space

    @property
    def space_json(self) -> dict[str, Any]:
        """The name of the space."""
        return {"name": self.space}

    def trial(self, point: Point, seed: int, number: int, left_seconds: float) -> ProgramSpec:
        """AutoKeras' next network, trained on four fifths of the training part."""
        assert isinstance(point, Proposal)
        more = {"folder": str(point.folder), "number": number}
        spec = self._spec("build_trial", validated(self.dataset), seed, f"trial{number}", more)
        return replace(spec, is_timed=False, timeout_seconds=self.timeout(left_seconds))

    def winner(self, point: Point, seed: int) -> ProgramSpec:
        """The network of the same settings on all of the training part."""
        return self._spec("build_winner", self.dataset, seed, "winner", {"settings": dict(point.settings)})

    def _spec(self, function: str, data: Dataset, seed: int, what: str, more: Mapping[str, Any]) -> ProgramSpec:
        framework = self.first.framework
        spec = _spec(self.settings, (framework, data, self.device), function, more, self.epochs)
        return replace(spec, case=self._case(data, seed, what), seed=seed)

    def _case(self, data: Dataset, seed: int, what: str) -> Case:
        cell = (self.space, data.name)
        return self.settings.case(self.name(seed, what), self.first.framework, cell, self.device, ())


def _refusal(settings: RunSettings, framework: Framework) -> str:
    """Why AutoKeras cannot search here; empty if it can."""
    if framework.unsupported:
        return framework.unsupported
    if all(one.name != AUTOKERAS for one in framework.engines):
        return "AutoKeras trains in Keras on TensorFlow: use it with keras-tensorflow"
    if isinstance(settings.places, PlacesElsewhere):
        return "what AutoKeras learns from a trial is in a folder of this machine: search without --dlbench-on"
    return ""


def _spec(
    settings: RunSettings,
    cell: Cell,
    function: str,
    more: Mapping[str, Any],
    epochs: int,
) -> ProgramSpec:
    framework, data, device = cell
    return program_spec(
        settings,
        Program(source=PROGRAM, function=function, parameters={"data": data.name, **more}),
        framework,
        device,
        root=ENGINES,
        steps=epochs * ceil(data.train_examples / BATCH_SIZE),
        data=[data],
    )
