"""Fully connected layers, and the flattening before them."""

from dataclasses import dataclass
from math import prod
from typing import ClassVar

from pytest_dlbench.model.layers.layer import DoesNotFit, Inferred, Parameter, require_positive
from pytest_dlbench.model.shapes import Shape, show


@dataclass(frozen=True, slots=True)
class Dense:
    """Every output is a weighted sum of every input."""

    kind: ClassVar[str] = "dense"
    prefix: ClassVar[str] = "fc"
    units: int
    bias: bool = True

    def __post_init__(self) -> None:
        require_positive((self.units,), "Dense units")

    def infer(self, shape: Shape) -> Inferred:
        """A vector of ``units``."""
        if len(shape) != 1:
            raise DoesNotFit(f"Dense needs a vector, got {show(shape)}; put Flatten() before it")
        inputs, units = shape[0], self.units
        weight = Parameter(role="weight", shape=(inputs, units), fan_in=inputs, fan_out=units)
        bias = (Parameter(role="bias", shape=(units,)),) if self.bias else ()
        return Inferred(
            output=(units,), parameters=(weight, *bias), multiply_adds=inputs * units, geometry={"bias": self.bias}
        )


@dataclass(frozen=True, slots=True)
class Flatten:
    """An image as one vector, in channel, row, column order."""

    kind: ClassVar[str] = "flatten"
    prefix: ClassVar[str] = "flatten"

    def infer(self, shape: Shape) -> Inferred:
        """A vector of all values."""
        return Inferred(output=(prod(shape),), geometry={})
