"""What a test requires of its figures, in addition to the gate: the least, or the most where lower is better."""

from collections.abc import Mapping
from math import isfinite

from pytest_dlbench.errors import OptionError, unknown_name
from pytest_dlbench.judging.metrics import Metrics
from pytest_dlbench.records import CaseResult


def applicable(
    result: CaseResult, bounds: Mapping[str, float], metrics: Metrics
) -> tuple[dict[str, float], dict[str, float]]:
    """The bounds that apply, and those that do not because training ended before the end of the recipe.

    Raises OptionError for a metric that is unknown or that the case does not have, and for an infinite bound.
    """
    for name, bound in bounds.items():
        if name not in metrics:
            raise OptionError(unknown_name("metric", name, "result.require", metrics))
        if not isfinite(bound):
            raise OptionError(f"result.require: expected a finite number for {name}, got {bound}")
        if name not in result.figures:
            known = ", ".join(result.figures)
            raise OptionError(f"result.require: {result.case.id} has no {name}; it has {known}")
    is_cut = bool(result.steps and result.recipe_steps and result.steps < result.recipe_steps)
    later = {name: bound for name, bound in bounds.items() if is_cut and metrics[name].needs_whole_recipe}
    return {name: bound for name, bound in bounds.items() if name not in later}, later


def unmet(result: CaseResult, bounds: Mapping[str, float], metrics: Metrics) -> dict[str, float]:
    """The bounds that the medians over the runs do not keep. NaN keeps none."""

    def is_kept(name: str, bound: float) -> bool:
        found = result.figures[name]
        return found >= bound if metrics[name].better == "higher" else found <= bound

    return {name: bound for name, bound in bounds.items() if not is_kept(name, bound)}
