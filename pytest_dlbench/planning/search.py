"""From an engine, a space and a budget to what a case that searches for a network runs."""

from dataclasses import replace
from importlib.util import find_spec
from math import inf

from pytest_dlbench.data import Dataset
from pytest_dlbench.environments import Device, Framework
from pytest_dlbench.environments.placing import Absent, Lack
from pytest_dlbench.errors import OptionError, unknown_name
from pytest_dlbench.planning.autokeras_search import AUTOKERAS, AutoKerasSearch
from pytest_dlbench.planning.neutral_search import NeutralSearch
from pytest_dlbench.planning.plan import RunSettings
from pytest_dlbench.planning.search_plan import SearchPlan
from pytest_dlbench.planning.search_space import SearchSpace

LABEL = "search"
RANDOM, TPE = "random", "tpe"
ENGINES = (RANDOM, TPE, AUTOKERAS)
NO_OPTUNA = 'the engine tpe is Optuna\'s: pip install "pytest-dlbench[search]"'


def search_plan(
    settings: RunSettings,
    framework: Framework,
    dataset: Dataset,
    device: Device,
    *,
    engine: str,
    space: SearchSpace | None,
    budget_seconds: float,
    epochs: int,
    label: str = LABEL,
) -> SearchPlan:
    """How a case is searched, by default in the usual space; raises OptionError for what no search can do."""
    _refuse(settings, engine, space, dataset, budget_seconds)
    cell = (framework, dataset, device)
    if engine == AUTOKERAS:
        return AutoKerasSearch.of(settings, cell, budget_seconds=budget_seconds, epochs=epochs, label=label)
    plan = NeutralSearch.of(
        settings,
        cell,
        space or SearchSpace(),
        engine=engine,
        budget_seconds=budget_seconds,
        epochs=epochs,
        label=label,
    )
    if engine == TPE and find_spec("optuna") is None:
        return replace(plan, first=replace(plan.first, place=Absent(lack=Lack.UNSUPPORTED, reason=NO_OPTUNA)))
    return plan


def _refuse(
    settings: RunSettings, engine: str, space: SearchSpace | None, dataset: Dataset, budget_seconds: float
) -> None:
    if engine not in ENGINES:
        raise OptionError(unknown_name("engine", engine, "dlbench.search", ENGINES))
    if not 0 < budget_seconds < inf:
        raise OptionError(f"dlbench.search: budget_seconds must be above 0 and finite, got {budget_seconds}")
    if dataset.task != "class" or dataset.vocabulary:
        raise OptionError(f"dlbench.search: {dataset.name} has no images or vectors with one class each")
    if settings.changes:
        raise OptionError(f"--dlbench-set {settings.changes[0].name}: a search chooses its recipes itself")
    if engine == AUTOKERAS and space is not None:
        raise OptionError(f"dlbench.search: space={space.name}: AutoKeras searches among its own networks; omit it")
