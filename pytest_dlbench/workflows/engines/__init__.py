"""The engines of searches, a module each: what to try next, given how good everything before was."""

from pytest_dlbench.planning.autokeras_search import AutoKerasSearch
from pytest_dlbench.planning.neutral_search import NeutralSearch
from pytest_dlbench.planning.search import RANDOM
from pytest_dlbench.planning.search_plan import SearchPlan
from pytest_dlbench.workflows.engines.at_random import RandomEngine
from pytest_dlbench.workflows.engines.autokeras import AutoKerasEngine
from pytest_dlbench.workflows.engines.engine import Engine
from pytest_dlbench.workflows.engines.tpe import TPEEngine

__all__ = ["Engine", "engine_of"]


def engine_of(plan: SearchPlan, seed: int) -> Engine:
    """The engine of one search."""
    if isinstance(plan, AutoKerasSearch):
        return AutoKerasEngine()
    assert isinstance(plan, NeutralSearch)
    return (RandomEngine if plan.engine == RANDOM else TPEEngine)(plan.networks, seed)
