"""The initial weights of a worker."""

from pathlib import Path

import numpy as np

from pytest_dlbench.model import Network, Recipe
from pytest_dlbench.model.initial import initial_weights


def write_weights(network: Network, recipe: Recipe, *, seed: int, folder: Path) -> str | None:
    """The path of the file with them, in the recipe's storage type; None if each framework initialises its own."""
    if recipe.init == "framework":
        return None
    path = folder / "weights.npz"
    arrays = initial_weights(network, seed=seed, rule=recipe.init)
    typed = {name: array.astype(recipe.stored_precision) for name, array in arrays.items()}
    np.savez(path, allow_pickle=False, **typed)
    return str(path)
