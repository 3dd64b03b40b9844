"""Layers that behave differently in training and in evaluation."""

from dataclasses import KW_ONLY, dataclass
from math import inf
from typing import ClassVar

from pytest_dlbench.errors import ModelError
from pytest_dlbench.model.layers.layer import Inferred, Parameter, require_share
from pytest_dlbench.model.shapes import Shape


@dataclass(frozen=True, slots=True)
class Dropout:
    """In training each value is zeroed with probability ``rate`` and the others are scaled by ``1 / (1 - rate)``."""

    kind: ClassVar[str] = "dropout"
    prefix: ClassVar[str] = "dropout"
    rate: float

    def __post_init__(self) -> None:
        require_share(self.rate, "Dropout rate")

    def infer(self, shape: Shape) -> Inferred:
        """The same shape."""
        return Inferred(output=shape, geometry={"rate": self.rate})


@dataclass(frozen=True, slots=True)
class BatchNorm:
    """Normalisation over the batch, and over rows and columns of an image, with a trained scale and shift.

    Training divides by the biased variance of the batch. The running statistics that evaluation uses start at mean 0
    and variance 1 and move by ``1 - decay`` each step towards the batch's mean and its unbiased variance
    (Ioffe & Szegedy 2015, algorithm 2).
    """

    kind: ClassVar[str] = "batch_norm"
    prefix: ClassVar[str] = "bn"
    _: KW_ONLY
    epsilon: float = 1e-5
    decay: float = 0.9

    def __post_init__(self) -> None:
        require_share(self.decay, "BatchNorm decay")
        if not 0 < self.epsilon < inf:
            raise ModelError(f"BatchNorm epsilon must be above 0 and finite, got {self.epsilon!r}")

    def infer(self, shape: Shape) -> Inferred:
        """The same shape; one scale and one shift for each channel or feature."""
        parameters = (Parameter(role="scale", shape=shape[:1]), Parameter(role="shift", shape=shape[:1]))
        geometry = {"epsilon": self.epsilon, "decay": self.decay}
        return Inferred(output=shape, parameters=parameters, geometry=geometry)
