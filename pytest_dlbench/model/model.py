"""A model of the field: its layers, the input it was made for, and where it comes from."""

from dataclasses import dataclass, replace
from typing import Literal

from pytest_dlbench.errors import ModelError
from pytest_dlbench.model.layers import Dropout, Layer
from pytest_dlbench.model.recipe import Recipe
from pytest_dlbench.model.shapes import Shape

Family = Literal["cnn", "fcn", "rnn", "detection"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SoftmaxCrossEntropy:
    """The head: softmax over ``classes`` logits, the mean over the batch of minus the log-probability of the label."""

    classes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Model:
    """A network, written once for all frameworks.

    ``input_shape`` is one sample of the data it was made for, channels first. ``sources`` name the studies that
    trained it and become pytest marks, as ``family`` does. ``recipe`` is the source's own.
    """

    name: str
    family: Family
    input_shape: Shape
    layers: tuple[Layer, ...]
    head: SoftmaxCrossEntropy
    recipe: Recipe
    sources: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not self.layers:
            raise ModelError(f"model {self.name!r} has no layers")
        if len(self.input_shape) not in (1, 3) or any(size < 1 for size in self.input_shape):
            raise ModelError(
                f"model {self.name!r}: input_shape must be (channels, height, width) or (features,), each 1 or more,"
                f" got {self.input_shape}"
            )

    @property
    def marks(self) -> tuple[str, ...]:
        """The pytest marks of its cells."""
        return (self.family, *self.sources)

    def for_input(self, shape: Shape) -> "Model":
        """The same layers for another input; its name says so."""
        return replace(self, input_shape=shape, name=f"{self.name}-{'x'.join(map(str, shape))}")

    def without_dropout(self) -> "Model":
        """The same model with no random masks, which frameworks cannot share."""
        return replace(self, layers=tuple(layer for layer in self.layers if not isinstance(layer, Dropout)))
