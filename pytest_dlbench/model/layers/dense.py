"""Fully connected layers."""

from dataclasses import dataclass
from math import prod
from typing import ClassVar

from pytest_dlbench.model.layers.layer import DoesNotFit, Inferred, Parameter, require_positive
from pytest_dlbench.model.shapes import Shape, show


@dataclass(frozen=True, slots=True)
class Dense:
    """Every output is a weighted sum of all inputs; on a sequence, at each step with the same weights."""

    kind: ClassVar[str] = "dense"
    prefix: ClassVar[str] = "fc"
    units: int
    bias: bool = True

    def __post_init__(self) -> None:
        require_positive((self.units,), "Dense units")

    def infer(self, shape: Shape) -> Inferred:
        """A vector of ``units`` numbers, or one at each step."""
        if len(shape) > 2:
            raise DoesNotFit(f"Dense needs a vector or a sequence, got {show(shape)}; put Flatten() before it")
        *steps, inputs = shape
        units = self.units
        weight = Parameter(role="weight", shape=(inputs, units), fan_in=inputs, fan_out=units)
        bias = (Parameter(role="bias", shape=(units,)),) if self.bias else ()
        return Inferred(
            output=(*steps, units),
            parameters=(weight, *bias),
            multiply_adds=prod(steps) * inputs * units,
            geometry={"bias": self.bias},
        )
