"""A model: its layers, the input that it was designed for, and its source."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal

from pytest_dlbench.errors import ModelError
from pytest_dlbench.model.heads import Head
from pytest_dlbench.model.layers import Add, Branch, Concat, Conditioned, Dropout, Layer, RegionProposals
from pytest_dlbench.model.recipe import Recipe
from pytest_dlbench.model.shapes import Shape

Family = Literal["cnn", "fcn", "rnn", "transformer", "detection"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Model:
    """A network, written once for all frameworks.

    ``input_shape`` is one sample of the data it was designed for: an image with channels first, a vector, or a row of
    tokens, each at least 0 and below ``vocabulary``. ``sources`` name the studies that trained it and become pytest
    marks, as do ``family`` and ``more_marks``, such as "slow". ``recipe`` is the source's own.
    """

    name: str
    family: Family
    input_shape: Shape
    layers: Branch
    head: Head
    recipe: Recipe
    vocabulary: int | None = None
    sources: tuple[str, ...] = ()
    more_marks: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not self.layers:
            raise ModelError(f"model {self.name!r} has no layers")
        if len(self.input_shape) not in (1, 3) or any(size < 1 for size in self.input_shape):
            raise ModelError(
                f"model {self.name!r}: input_shape must be (channels, height, width), (features,) or (steps,), each"
                f" 1 or more, got {self.input_shape}"
            )

    @property
    def marks(self) -> tuple[str, ...]:
        """The pytest marks of this model's cells."""
        return (self.family, *self.sources, *self.more_marks)

    def for_input(self, shape: Shape) -> "Model":
        """The same layers for another input shape, which is appended to the name."""
        return replace(self, input_shape=shape, name=f"{self.name}-{'x'.join(map(str, shape))}")

    def without_dropout(self) -> "Model":
        """The same model without dropout, because frameworks cannot share random masks."""
        return replace(self, layers=_kept(self.layers, lambda layer: not isinstance(layer, Dropout)))


def _kept(layers: Branch, is_kept: Callable[[Layer], bool]) -> Branch:
    """The layers for which ``is_kept`` holds, including those in branches."""
    return tuple(_thinned(layer, is_kept) for layer in layers if is_kept(layer))


def _thinned(layer: Layer, is_kept: Callable[[Layer], bool]) -> Layer:
    if isinstance(layer, Add | Concat):
        return layer.with_branches(*(_kept(branch, is_kept) for branch in layer.branches))
    if isinstance(layer, Conditioned):
        return replace(layer, start=_kept(layer.start, is_kept), sequence=_kept(layer.sequence, is_kept))
    if isinstance(layer, RegionProposals):
        return replace(layer, trunk=_kept(layer.trunk, is_kept))
    return layer
