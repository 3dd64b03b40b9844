"""Layers that compute nothing: another shape, a part, or room."""

from dataclasses import dataclass
from math import prod
from typing import ClassVar

from pytest_dlbench.model.layers.layer import DoesNotFit, Inferred, require_image
from pytest_dlbench.model.shapes import Shape, show


@dataclass(frozen=True, slots=True)
class Flatten:
    """An image as one vector, in channel, row, column order."""

    kind: ClassVar[str] = "flatten"
    prefix: ClassVar[str] = "flatten"

    def infer(self, shape: Shape) -> Inferred:
        """A vector of all values."""
        return Inferred(output=(prod(shape),), geometry={})


@dataclass(frozen=True, slots=True)
class PadChannels:
    """Channels of zeros at the end: the shortcut without parameters of He et al. 2015 (section 3.3, option A)."""

    kind: ClassVar[str] = "pad_channels"
    prefix: ClassVar[str] = "widen"
    channels: int

    def infer(self, shape: Shape) -> Inferred:
        """An image of ``channels`` channels."""
        have, *sides = require_image(shape, "PadChannels")
        if self.channels < have:
            raise DoesNotFit(f"PadChannels({self.channels}) of an image that has {have} channels")
        return Inferred(output=(self.channels, *sides), geometry={"added": self.channels - have})


@dataclass(frozen=True, slots=True)
class Cut:
    """The tokens from ``first`` to before ``last`` of a row that holds several sequences."""

    kind: ClassVar[str] = "cut"
    prefix: ClassVar[str] = "cut"
    first: int
    last: int

    def infer(self, shape: Shape) -> Inferred:
        """A shorter row."""
        if len(shape) != 1 or not 0 <= self.first < self.last <= shape[0]:
            raise DoesNotFit(f"Cut from {self.first} to {self.last} does not lie in a row of {show(shape)}")
        return Inferred(output=(self.last - self.first,), geometry={"first": self.first, "last": self.last})
