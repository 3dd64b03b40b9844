"""What a search chooses from: small image classifiers in the neutral vocabulary, and their recipes."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from math import inf
from typing import Literal, Protocol

from pytest_dlbench.errors import ModelError
from pytest_dlbench.model.heads import SoftmaxCrossEntropy
from pytest_dlbench.model.layers import Conv2D, Dense, Flatten, Layer, MaxPool, ReLU, Tanh
from pytest_dlbench.model.model import Model
from pytest_dlbench.model.optimizers import SGD
from pytest_dlbench.model.recipe import Recipe
from pytest_dlbench.model.shapes import Shape

LayerKind = Literal["dense", "convolutional"]
Activation = Literal["relu", "tanh"]
ACTIVATIONS: Mapping[str, type[ReLU | Tanh]] = {"relu": ReLU, "tanh": Tanh}
KINDS = ("dense", "convolutional")
# An image is halved after a convolution as long as this many pixels of each side are left.
LEAST_SIDE = 4

Setting = int | float | str


class Pick(Protocol):
    """How an engine chooses, one setting at a time."""

    def one_of(self, name: str, values: Sequence[Setting], /) -> Setting:
        """One of the values."""

    def between(self, name: str, low: float, high: float, /) -> float:
        """A number, on a logarithmic scale."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchSpace:
    """Networks of hidden layers, and the settings of stochastic gradient descent.

    ``layers`` are numbers of hidden layers, each with one of ``widths`` units or filters; 0 is softmax regression.
    ``learning_rate`` is a range, the others are lists of values. ``name`` is part of the case's ID.
    """

    name: str = "small"
    kinds: tuple[LayerKind, ...] = ("dense", "convolutional")
    layers: tuple[int, ...] = (1, 2, 3)
    widths: tuple[int, ...] = (8, 16, 32, 64)
    activations: tuple[Activation, ...] = ("relu", "tanh")
    learning_rate: tuple[float, float] = (0.001, 1.0)
    momenta: tuple[float, ...] = (0.0, 0.5, 0.9)
    batch_sizes: tuple[int, ...] = (16, 32, 64, 128)

    def __post_init__(self) -> None:
        for name in ("kinds", "layers", "widths", "activations", "momenta", "batch_sizes"):
            if not getattr(self, name):
                raise ModelError(f"SearchSpace: {name} has no value; give at least one")
        for name, known in (("kinds", KINDS), ("activations", ACTIVATIONS)):
            if unknown := [value for value in getattr(self, name) if value not in known]:
                raise ModelError(f"SearchSpace: {name} has {unknown[0]!r}; known are {', '.join(known)}")
        low, high = self.learning_rate
        if not 0 < low <= high < inf:
            raise ModelError(
                f"SearchSpace: learning_rate is a range above 0, such as (0.001, 1.0), got ({low}, {high})"
            )

    @property
    def digest(self) -> str:
        """Another one for other values."""
        return hashlib.sha256(json.dumps(asdict(self), sort_keys=True).encode()).hexdigest()[:16]

    def choose(self, pick: Pick) -> "Choice":
        """One network and its recipe."""
        return Choice(
            kind=str(pick.one_of("kind", self.kinds)),
            layers=int(pick.one_of("layers", self.layers)),
            width=int(pick.one_of("width", self.widths)),
            activation=str(pick.one_of("activation", self.activations)),
            learning_rate=pick.between("learning_rate", *self.learning_rate),
            momentum=float(pick.one_of("momentum", self.momenta)),
            batch_size=int(pick.one_of("batch_size", self.batch_sizes)),
        )

    @property
    def first(self) -> "Choice":
        """The first value of everything: what a framework must be able to train at least."""
        return self.choose(_First())


class _First:
    def one_of(self, _: str, values: Sequence[Setting]) -> Setting:
        return values[0]

    def between(self, _: str, low: float, __: float) -> float:
        return low


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """One point of a search space."""

    kind: str
    layers: int
    width: int
    activation: str
    learning_rate: float
    momentum: float
    batch_size: int

    @property
    def settings(self) -> Mapping[str, Setting]:
        """By name, as records have them."""
        return asdict(self)

    def recipe(self, epochs: int) -> Recipe:
        """How it is trained; evaluated at the end only."""
        return Recipe(
            batch_size=self.batch_size,
            epochs=epochs,
            optimizer=SGD(self.learning_rate, momentum=self.momentum),
            evaluation_interval=None,
        )

    def model(self, shape: Shape, classes: int, epochs: int) -> Model:
        """The network for inputs of this shape."""
        return Model(
            name=f"{self.kind}-{self.layers}x{self.width}-{self.activation}",
            family="fcn" if self.kind == "dense" else "cnn",
            input_shape=shape,
            layers=(*self._hidden(shape), Dense(classes)),
            head=SoftmaxCrossEntropy(classes=classes),
            recipe=self.recipe(epochs),
        )

    def _hidden(self, shape: Shape) -> tuple[Layer, ...]:
        activation = ACTIVATIONS[self.activation]
        flat = (Flatten(),) if len(shape) > 1 else ()
        if self.kind == "dense":
            return (*flat, *(layer for _ in range(self.layers) for layer in (Dense(self.width), activation())))
        layers: list[Layer] = []
        side = min(shape[1:], default=0)
        for _ in range(self.layers):
            layers += [Conv2D(self.width, 3, padding="same"), activation()]
            if side // 2 >= LEAST_SIDE:
                layers.append(MaxPool(2))
                side //= 2
        return (*layers, *flat)
