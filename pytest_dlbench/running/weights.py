"""The weights of a worker: drawn by a rule, or those of a file that the user gives."""

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from pytest_dlbench.errors import ModelError
from pytest_dlbench.model import Network, Recipe
from pytest_dlbench.model.initial import initial_weights
from pytest_dlbench.model.shapes import show

# Running statistics of batch normalisation, and what they are in a network that was not trained.
STATISTICS = {"mean": 0.0, "variance": 1.0}
# Names that an error lists.
MOST_NAMES = 3

Arrays = Mapping[str, NDArray[Any]]


@dataclass(frozen=True, slots=True, kw_only=True)
class GivenWeights:
    """An .npz file of weights; ``digest`` begins the SHA-256 hash of its content."""

    path: Path
    digest: str


def given_weights(path: Path) -> GivenWeights:
    """The file at a path; raises ModelError if it cannot be read."""
    try:
        with path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise ModelError(f"weights {path}: {error.strerror}") from error
    return GivenWeights(path=path.absolute(), digest=digest[:16])


def write_weights(
    network: Network, recipe: Recipe, *, seed: int, folder: Path, given: GivenWeights | None = None
) -> str | None:
    """The path of the file with them, in the recipe's storage type; None if each framework initialises its own."""
    if given is None and recipe.init == "framework":
        return None
    path = folder / "weights.npz"
    # What a rule draws is only read where the recipe has one.
    arrays = read_weights(network, given) if given else initial_weights(network, seed=seed, rule=recipe.init)  # type: ignore[arg-type]
    typed = {name: array.astype(recipe.stored_precision) for name, array in arrays.items()}
    np.savez(path, allow_pickle=False, **typed)
    return str(path)


def read_weights(network: Network, given: GivenWeights) -> dict[str, NDArray[np.float64]]:
    """Every trainable array of a network, from a file; raises ModelError if the file does not fit the network.

    The file may also have the running statistics of batch normalisation, "LAYER.mean" and "LAYER.variance". In
    evaluation they change each value as the layer's scale and shift do, so they become a part of these.
    """
    arrays = _read(given.path)
    _require_fit(network, arrays, given.path)
    for name, epsilon in _normalised(network).items():
        if f"{name}.mean" in arrays:
            _fold(arrays, name, epsilon)
    return {name: arrays[name] for name in network.parameters}


def _read(path: Path) -> dict[str, NDArray[np.float64]]:
    try:
        file = np.load(path, allow_pickle=False)
        if isinstance(file, np.ndarray):
            raise ModelError(f"weights {path}: this is a single array; numpy.savez writes several, by name")
        with file:
            found = {name: np.asarray(file[name]) for name in file.files}
    except (OSError, ValueError, BadZipFile) as error:
        raise ModelError(f"weights {path}: not an .npz file of arrays, as numpy.savez writes it: {error}") from error
    for name, array in found.items():
        if array.dtype.kind != "f" or not np.isfinite(array).all():
            what = "has values that are not finite" if array.dtype.kind == "f" else f"has the type {array.dtype}"
            raise ModelError(f"weights {path}: {name} {what}; weights are finite floating-point numbers")
    return {name: array.astype(np.float64) for name, array in found.items()}


def _require_fit(network: Network, arrays: Arrays, path: Path) -> None:
    """Raise ModelError unless these are the arrays of a network, with or without running statistics."""
    needed = {name: parameter.shape for name, parameter in network.parameters.items()}
    statistics = {
        f"{name}.{figure}": needed[f"{name}.shift"]
        for name in _normalised(network)
        for figure in STATISTICS
        if any(f"{name}.{either}" in arrays for either in STATISTICS)
    }
    expected, found = needed | statistics, {name: array.shape for name, array in arrays.items()}
    problems = (
        ("it lacks", [name for name in expected if name not in found]),
        ("the model has no", [name for name in found if name not in expected]),
        (
            "",
            [
                f"{name} is {show(found[name])} instead of {show(shape)}"
                for name, shape in expected.items()
                if name in found and found[name] != shape
            ],
        ),
    )
    if said := "; ".join(f"{what} {_some(names)}".strip() for what, names in problems if names):
        model = network.model.name
        raise ModelError(
            f"weights {path} do not fit {model}: {said}\n  names and shapes: dlbench models {model} --json"
        )
    if negative := [name for name in statistics if name.endswith(".variance") and (arrays[name] < 0).any()]:
        raise ModelError(f"weights {path}: {_some(negative)} has negative values")


def _some(names: Iterable[str]) -> str:
    """The first few names, and how many others there are."""
    listed = list(names)
    more = f" and {len(listed) - MOST_NAMES} more" if len(listed) > MOST_NAMES else ""
    return ", ".join(listed[:MOST_NAMES]) + more


def _normalised(network: Network) -> dict[str, float]:
    """The epsilon of every layer with running statistics."""
    layers = (placed for placed in network.layers if placed.layer.kind == "batch_norm")
    return {placed.name: float(placed.inferred.geometry["epsilon"]) for placed in layers}


def _fold(arrays: dict[str, NDArray[np.float64]], name: str, epsilon: float) -> None:
    """Make running statistics a part of scale and shift, for a layer whose own are still those of its beginning."""
    mean, variance = (arrays[f"{name}.{figure}"] for figure in STATISTICS)
    factor = arrays[f"{name}.scale"] / np.sqrt(variance + epsilon)
    arrays[f"{name}.shift"] = arrays[f"{name}.shift"] - factor * mean
    arrays[f"{name}.scale"] = factor * np.sqrt(STATISTICS["variance"] + epsilon)
