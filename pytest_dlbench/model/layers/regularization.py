"""Dropout and normalisation."""

from dataclasses import KW_ONLY, dataclass
from math import inf
from typing import ClassVar

from pytest_dlbench.errors import ModelError
from pytest_dlbench.model.layers.layer import (
    DoesNotFit,
    Inferred,
    Parameter,
    require_image,
    require_positive,
    require_share,
)
from pytest_dlbench.model.shapes import Shape, show


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
class LocalResponseNorm:
    """``x / (k + alpha / size · Σ x²)^beta``, the sum over ``size`` neighbouring channels around each.

    Krizhevsky et al. 2012, section 3.3, with alpha divided by the size as in Caffe and PyTorch (the paper and
    TensorFlow do not divide). Channels beyond the first and the last count as zeros.
    """

    kind: ClassVar[str] = "local_response_norm"
    prefix: ClassVar[str] = "lrn"
    size: int = 5
    _: KW_ONLY
    alpha: float = 1e-4
    beta: float = 0.75
    k: float = 1.0

    def __post_init__(self) -> None:
        require_positive((self.size,), "LocalResponseNorm size")
        if not self.size % 2 or not all(0 < value < inf for value in (self.alpha, self.beta, self.k)):
            raise ModelError(f"LocalResponseNorm needs an odd size and alpha, beta and k above 0, got {self}")

    def infer(self, shape: Shape) -> Inferred:
        """The same shape."""
        require_image(shape, "LocalResponseNorm")
        geometry = {"size": self.size, "alpha": self.alpha, "beta": self.beta, "k": self.k}
        return Inferred(output=shape, geometry=geometry)


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


@dataclass(frozen=True, slots=True)
class LayerNorm:
    """Normalisation over the features of each vector or step, with a trained scale and shift.

    ``scale·(x - mean) / √(variance + epsilon) + shift`` with the biased variance (Ba et al. 2016); the same in training
    and evaluation.
    """

    kind: ClassVar[str] = "layer_norm"
    prefix: ClassVar[str] = "ln"
    _: KW_ONLY
    epsilon: float = 1e-5

    def __post_init__(self) -> None:
        if not 0 < self.epsilon < inf:
            raise ModelError(f"LayerNorm epsilon must be above 0 and finite, got {self.epsilon!r}")

    def infer(self, shape: Shape) -> Inferred:
        """The same shape; one scale and one shift for each feature."""
        if len(shape) > 2:
            raise DoesNotFit(f"LayerNorm needs a vector or a sequence, got {show(shape)}; put Flatten() before it")
        parameters = (Parameter(role="scale", shape=shape[-1:]), Parameter(role="shift", shape=shape[-1:]))
        return Inferred(output=shape, parameters=parameters, geometry={"epsilon": self.epsilon})
