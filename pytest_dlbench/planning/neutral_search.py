"""Searches among networks of the neutral vocabulary, which every framework can train."""

from dataclasses import asdict, dataclass, replace
from typing import Any, Self

from pytest_dlbench.data import Dataset
from pytest_dlbench.data.held_out import validated
from pytest_dlbench.planning.plan import RunSettings, recipe_steps_of
from pytest_dlbench.planning.search_plan import Cell, Point, SearchPlan
from pytest_dlbench.planning.search_space import Choice, SearchSpace
from pytest_dlbench.running.run_spec import NetworkSpec


@dataclass(frozen=True, slots=True, kw_only=True)
class NeutralSearch(SearchPlan):
    """A case that searches a space of the neutral vocabulary; ``first`` trains the first network of it."""

    networks: SearchSpace

    @classmethod
    def of(
        cls,
        settings: RunSettings,
        cell: Cell,
        networks: SearchSpace,
        *,
        engine: str,
        budget_seconds: float,
        epochs: int,
        label: str,
    ) -> Self:
        """The case of one cell."""
        name = f"{label}-{engine}-{budget_seconds:g}s"
        first = _spec(settings, cell, networks.first, epochs=epochs, label=name, seed=settings.seed)
        case = replace(
            first.case,
            id=first.case.id.replace(f"-{first.case.model}-", f"-{networks.name}-", 1),
            model=networks.name,
            settings={"engine": engine, "budget_seconds": budget_seconds},
        )
        _, dataset, device = cell
        return cls(
            settings=settings,
            engine=engine,
            space=networks.name,
            networks=networks,
            dataset=dataset,
            device=device,
            budget_seconds=budget_seconds,
            epochs=epochs,
            label=label,
            first=replace(first, case=case, purpose="search"),
        )

    @property
    def space_digest(self) -> str:
        """The digest of all values of the space."""
        return self.networks.digest

    @property
    def space_json(self) -> dict[str, Any]:
        """All values of the space."""
        return asdict(self.networks)

    def trial(self, point: Point, seed: int, number: int, left_seconds: float) -> NetworkSpec:
        """A network, trained on four fifths of the training part."""
        spec = self._spec(point, validated(self.dataset), seed, f"trial{number}")
        return replace(spec, is_timed=False, timeout_seconds=self.timeout(left_seconds))

    def winner(self, point: Point, seed: int) -> NetworkSpec:
        """The same network on all of the training part."""
        return self._spec(point, self.dataset, seed, "winner")

    def _spec(self, point: Point, data: Dataset, seed: int, what: str) -> NetworkSpec:
        assert isinstance(point, Choice)
        cell = (self.first.framework, data, self.device)
        return _spec(self.settings, cell, point, epochs=self.epochs, label=self.name(seed, what), seed=seed)


def _spec(settings: RunSettings, cell: Cell, choice: Choice, *, epochs: int, label: str, seed: int) -> NetworkSpec:
    framework, data, device = cell
    recipe = choice.recipe(epochs)
    model = choice.model(data.shape, data.classes, epochs)
    steps = recipe_steps_of(recipe, data)
    spec = settings.spec(framework, model, data, device, label=label, recipe=recipe, steps=steps)
    # Searched rather than saved: a checkpoint of each trial would take a part of the budget.
    return replace(spec, seed=seed, is_saved=False)
