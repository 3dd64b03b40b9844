"""Activation functions, without parameters."""

from dataclasses import KW_ONLY, dataclass
from typing import ClassVar

from pytest_dlbench.model.layers.layer import Inferred
from pytest_dlbench.model.shapes import Shape


@dataclass(frozen=True, slots=True)
class _Activation:
    def infer(self, shape: Shape) -> Inferred:
        """The same shape."""
        return Inferred(output=shape, geometry={})


@dataclass(frozen=True, slots=True)
class ReLU(_Activation):
    """``max(x, 0)``."""

    kind: ClassVar[str] = "relu"
    prefix: ClassVar[str] = "relu"


@dataclass(frozen=True, slots=True)
class Tanh(_Activation):
    """The hyperbolic tangent."""

    kind: ClassVar[str] = "tanh"
    prefix: ClassVar[str] = "tanh"


@dataclass(frozen=True, slots=True)
class Sigmoid(_Activation):
    """``1 / (1 + exp(-x))``."""

    kind: ClassVar[str] = "sigmoid"
    prefix: ClassVar[str] = "sigmoid"


@dataclass(frozen=True, slots=True)
class GELU:
    """``x·Φ(x)``, where Φ is the distribution function of the normal distribution (Hendrycks & Gimpel 2016).

    Exact, ``x·(1 + erf(x / √2)) / 2``, as in BERT; with ``tanh`` the approximation of GPT-2,
    ``x·(1 + tanh(√(2/π)·(x + 0.044715·x³))) / 2``, which differs by up to 5e-4.
    """

    prefix: ClassVar[str] = "gelu"
    _: KW_ONLY
    tanh: bool = False

    @property
    def kind(self) -> str:
        """A separate kind for the approximation, because not every framework has both with full precision."""
        return "gelu_tanh" if self.tanh else "gelu"

    def infer(self, shape: Shape) -> Inferred:
        """The same shape."""
        return Inferred(output=shape, geometry={})


@dataclass(frozen=True, slots=True)
class LogSoftmax(_Activation):
    """The logarithm of the softmax over the classes. Before a softmax head it only costs time: it changes no result."""

    kind: ClassVar[str] = "log_softmax"
    prefix: ClassVar[str] = "log_softmax"
