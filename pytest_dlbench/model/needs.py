"""What a builder must support to train a network with a recipe, by the names in the worker's JSON."""

from pytest_dlbench.model.network import Network
from pytest_dlbench.model.recipe import MIXED, Recipe


def needs(network: Network, recipe: Recipe) -> frozenset[str]:
    """Kinds of layers, the loss, the optimiser, a mixed precision, and the features that a recipe or layer needs.

    The features are "schedule", "clip_norm", "accumulation", "pipeline", "start", "lengths" and the settings of
    execution that are on.
    """
    kinds = {placed.layer.kind for placed in network.layers}
    of_layers = {feature for placed in network.layers for feature in ("lengths", "start") if feature in placed.more}
    of_recipe = {feature for feature in ("schedule", "clip_norm") if getattr(recipe, feature)}
    of_recipe |= {"accumulation"} if recipe.accumulation > 1 else set()
    of_recipe |= {recipe.precision} & MIXED | _fed(recipe) | set(recipe.execution)
    return frozenset(kinds | of_layers | of_recipe | {network.model.head.loss, recipe.optimizer.kind})


def _fed(recipe: Recipe) -> set[str]:
    """What a builder needs whose steps get their batches one by one, from a thread or from a loader."""
    return set() if recipe.input == "memory" else {"pipeline"}
