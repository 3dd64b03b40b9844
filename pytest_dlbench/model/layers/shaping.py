"""Layers that only change the shape: flattening, padding and cutting."""

from dataclasses import dataclass
from math import prod
from typing import ClassVar

from pytest_dlbench.model.layers.layer import DoesNotFit, Inferred, require_image
from pytest_dlbench.model.shapes import Shape, show


@dataclass(frozen=True, slots=True)
class Flatten:
    """Flattens an image to a vector, in channel, row, column order."""

    kind: ClassVar[str] = "flatten"
    prefix: ClassVar[str] = "flatten"

    def infer(self, shape: Shape) -> Inferred:
        """A vector of all values."""
        return Inferred(output=(prod(shape),), geometry={})


@dataclass(frozen=True, slots=True)
class PadChannels:
    """Appends channels of zeros: the parameter-free shortcut of He et al. 2015 (section 3.3, option A)."""

    kind: ClassVar[str] = "pad_channels"
    prefix: ClassVar[str] = "widen"
    channels: int

    def infer(self, shape: Shape) -> Inferred:
        """An image of ``channels`` channels."""
        have, *sides = require_image(shape, "PadChannels")
        if self.channels < have:
            raise DoesNotFit(f"PadChannels({self.channels}) on an image that has {have} channels")
        return Inferred(output=(self.channels, *sides), geometry={"added": self.channels - have})


@dataclass(frozen=True, slots=True)
class Cut:
    """The tokens from ``first`` up to, but not including, ``last`` of a row that holds several sequences."""

    kind: ClassVar[str] = "cut"
    prefix: ClassVar[str] = "cut"
    first: int
    last: int

    def infer(self, shape: Shape) -> Inferred:
        """A shorter row."""
        if len(shape) != 1 or not 0 <= self.first < self.last <= shape[0]:
            raise DoesNotFit(f"Cut from {self.first} to {self.last} does not fit a row of {show(shape)}")
        return Inferred(output=(self.last - self.first,), geometry={"first": self.first, "last": self.last})
