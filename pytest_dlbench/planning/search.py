"""From a search space and a budget to the specs of trials."""

from dataclasses import asdict, dataclass, replace
from importlib.util import find_spec
from math import inf
from typing import Any

from pytest_dlbench.data import Dataset
from pytest_dlbench.data.held_out import validated
from pytest_dlbench.environments import Device, Framework
from pytest_dlbench.environments.placing import Absent, Lack
from pytest_dlbench.errors import OptionError, unknown_name
from pytest_dlbench.planning.plan import RunSettings, recipe_steps_of
from pytest_dlbench.planning.search_space import Choice, SearchSpace
from pytest_dlbench.records import Context
from pytest_dlbench.running.run_spec import NetworkSpec

LABEL = "search"
RANDOM, TPE, AUTOKERAS = "random", "tpe", "autokeras"
Cell = tuple[Framework, Dataset, Device]
ENGINES = (RANDOM, TPE, AUTOKERAS)


@dataclass(frozen=True, slots=True, kw_only=True)
class Tried:
    """An engine that was installed with a framework's pins, and the error with which its search ended."""

    installed: tuple[str, ...]
    error: str

    @property
    def reason(self) -> str:
        """Why a case with this engine cannot run."""
        return f"{self.installed[0]} was tried with {' and '.join(self.installed[1:])}: {self.error}; use random or tpe"


# Tried in November 2026. Its head gives Dense a NumPy integer; an earlier trial with keras==3.12.0 searched.
TRIED = {
    AUTOKERAS: Tried(
        installed=("autokeras==3.0.0", "keras==3.15.1", "tensorflow-cpu==2.21.0"),
        error='the first trial ends with "ValueError: Received an invalid value for `units`, expected a positive'
        ' integer. Received: units=10"',
    )
}


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchPlan:
    """A case of one engine with one budget: it has a search for every seed.

    ``first`` is the spec of the first network of the space on all of the training part, under the name of the case: it
    has the reason if the case cannot run.
    """

    settings: RunSettings
    engine: str
    space: SearchSpace
    dataset: Dataset
    device: Device
    budget_seconds: float
    epochs: int
    label: str
    first: NetworkSpec

    @property
    def context(self) -> Context:
        """What must be the same before figures are compared: the space in place of a network and its recipe."""
        alike = self.settings.context(self.first)
        return replace(alike, network_digest=self.space.digest, batch_size=None, steps=0, recipe_steps=None)

    @property
    def recipe(self) -> dict[str, Any]:
        """What the trials have in common, as JSON."""
        return {"space": asdict(self.space), "epochs": self.epochs, "budget_seconds": self.budget_seconds}

    def trial(self, choice: Choice, seed: int, number: int, left_seconds: float) -> NetworkSpec:
        """A trial, which is validated; it is ended after as many seconds as there is processor time left.

        That cuts no trial within the budget which keeps one processor busy, and none can take more than the budget of
        each of its processors.
        """
        spec = self._spec(choice, validated(self.dataset), seed, f"trial{number}")
        # Validated rather than timed: checks of its times would take a part of the budget.
        return replace(spec, is_timed=False, timeout_seconds=min(spec.timeout_seconds, left_seconds))

    def winner(self, choice: Choice, seed: int) -> NetworkSpec:
        """The best trial's network, trained on all of the training part, and tested."""
        return self._spec(choice, self.dataset, seed, "winner")

    def _spec(self, choice: Choice, data: Dataset, seed: int, name: str) -> NetworkSpec:
        label = f"{self.label}-{self.engine}-{self.budget_seconds:g}s-seed{seed}-{name}"
        cell = (self.first.framework, data, self.device)
        return _spec(self.settings, cell, choice, epochs=self.epochs, label=label, seed=seed)


def search_plan(
    settings: RunSettings,
    framework: Framework,
    dataset: Dataset,
    device: Device,
    *,
    engine: str,
    space: SearchSpace,
    budget_seconds: float,
    epochs: int,
    label: str = LABEL,
) -> SearchPlan:
    """How a case is searched; raises OptionError for what no search can do."""
    _refuse(settings, engine, dataset, budget_seconds)
    name = f"{label}-{engine}-{budget_seconds:g}s"
    first = _spec(settings, (framework, dataset, device), space.first, epochs=epochs, label=name, seed=settings.seed)
    case = replace(
        first.case,
        id=first.case.id.replace(f"-{first.case.model}-", f"-{space.name}-", 1),
        model=space.name,
        settings={"engine": engine, "budget_seconds": budget_seconds},
    )
    first = replace(first, case=case, purpose="search")
    if reason := refusal(engine):
        first = replace(first, place=Absent(lack=Lack.UNSUPPORTED, reason=reason))
    return SearchPlan(
        settings=settings,
        engine=engine,
        space=space,
        dataset=dataset,
        device=device,
        budget_seconds=budget_seconds,
        epochs=epochs,
        label=label,
        first=first,
    )


def refusal(engine: str) -> str:
    """Why an engine cannot search here; empty if it can."""
    if engine == TPE and find_spec("optuna") is None:
        return 'the engine tpe is Optuna\'s: pip install "pytest-dlbench[search]"'
    return TRIED[engine].reason if engine in TRIED else ""


def _spec(
    settings: RunSettings,
    cell: Cell,
    choice: Choice,
    *,
    epochs: int,
    label: str,
    seed: int,
) -> NetworkSpec:
    framework, data, device = cell
    recipe = choice.recipe(epochs)
    model = choice.model(data.shape, data.classes, epochs)
    steps = recipe_steps_of(recipe, data)
    spec = settings.spec(framework, model, data, device, label=label, recipe=recipe, steps=steps)
    # Searched rather than saved: a checkpoint of each trial would take a part of the budget.
    return replace(spec, seed=seed, is_saved=False)


def _refuse(settings: RunSettings, engine: str, dataset: Dataset, budget_seconds: float) -> None:
    if engine not in ENGINES:
        raise OptionError(unknown_name("engine", engine, "dlbench.search", ENGINES))
    if not 0 < budget_seconds < inf:
        raise OptionError(f"dlbench.search: budget_seconds must be above 0 and finite, got {budget_seconds}")
    if dataset.task != "class" or dataset.vocabulary:
        raise OptionError(f"dlbench.search: {dataset.name} has no images or vectors with one class each")
    if settings.changes:
        raise OptionError(f"--dlbench-set {settings.changes[0].name}: a search chooses its recipes itself")
