"""Recurrent layers over sequences of ``steps × features``, and embeddings."""

from dataclasses import KW_ONLY, dataclass
from math import inf
from typing import ClassVar

from pytest_dlbench.errors import ModelError
from pytest_dlbench.model.layers.layer import DoesNotFit, Inferred, Parameter, require_positive, require_sequence
from pytest_dlbench.model.layers.merging import Branch
from pytest_dlbench.model.shapes import Shape, show


@dataclass(frozen=True, slots=True)
class Embedding:
    """A vector of ``size`` numbers for each token. Vectors start uniform within ±limit.

    With a ``padding`` token, sequences end where their trailing padding begins: recurrent layers after the embedding
    return the state after the last real token, and the padding has no effect on it. Their outputs after the end differ
    between frameworks, so labels there must be ignored. Every sequence needs at least one real token.
    """

    kind: ClassVar[str] = "embedding"
    prefix: ClassVar[str] = "embedding"
    vocabulary: int
    size: int
    _: KW_ONLY
    padding: int | None = None
    limit: float = 0.05

    def __post_init__(self) -> None:
        require_positive((self.vocabulary, self.size), "Embedding vocabulary and size")
        if self.padding is not None and not 0 <= self.padding < self.vocabulary:
            raise ModelError(f"Embedding padding must be a token below {self.vocabulary}, got {self.padding}")
        if not 0 < self.limit < inf:
            raise ModelError(f"Embedding limit must be above 0 and finite, got {self.limit!r}")

    def infer(self, shape: Shape) -> Inferred:
        """A sequence with one vector per token."""
        if len(shape) != 1:
            raise DoesNotFit(f"Embedding needs a row of tokens, got {show(shape)}")
        weight = Parameter(role="weight", shape=(self.vocabulary, self.size), limit=self.limit)
        geometry = {"vocabulary": self.vocabulary, "padding": self.padding}
        return Inferred(output=(*shape, self.size), parameters=(weight,), geometry=geometry)


@dataclass(frozen=True, slots=True)
class _Recurrent:
    """The initial state is zero. Returns the last state, or with ``sequence`` the states of all steps."""

    gates: ClassVar[int]
    units: int
    _: KW_ONLY
    sequence: bool = False

    def __post_init__(self) -> None:
        require_positive((self.units,), f"{type(self).__name__} units")

    def infer(self, shape: Shape) -> Inferred:
        """``units`` numbers, or ``units`` at each step."""
        steps, features = require_sequence(shape, type(self).__name__)
        return Inferred(
            output=(steps, self.units) if self.sequence else (self.units,),
            parameters=self._parameters(features),
            multiply_adds=steps * self.gates * self.units * (features + self.units),
            geometry={"units": self.units, "sequence": self.sequence},
        )

    def _parameters(self, features: int) -> tuple[Parameter, ...]:
        units, width = self.units, self.gates * self.units
        return (
            Parameter(role="weight", shape=(features, width), fan_in=features, fan_out=units),
            Parameter(role="recurrent", shape=(units, width), fan_in=units, fan_out=units),
        )


@dataclass(frozen=True, slots=True)
class LSTM(_Recurrent):
    """Long short-term memory (Hochreiter & Schmidhuber 1997, with forget gates), without peepholes.

    With the gates in the order input, forget, cell, output: ``i, f, g, o = x·weight + h·recurrent + bias``, then
    ``c = sigmoid(f)·c + sigmoid(i)·tanh(g)`` and ``h = sigmoid(o)·tanh(c)``. There is one bias, which starts at 1 for
    the forget gate and at 0 for the others (Jozefowicz et al. 2015).
    """

    kind: ClassVar[str] = "lstm"
    prefix: ClassVar[str] = "lstm"
    gates: ClassVar[int] = 4

    def _parameters(self, features: int) -> tuple[Parameter, ...]:
        bias = Parameter(role="bias", shape=(4 * self.units,), ones=(self.units, 2 * self.units))
        # Without super(), which does not find the new class that slots=True creates.
        return (*_Recurrent._parameters(self, features), bias)


@dataclass(frozen=True, slots=True)
class GRU(_Recurrent):
    """A gated recurrent unit (Cho et al. 2014) in the form that cuDNN computes.

    With the gates in the order reset, update, new: ``r = sigmoid(x·W_r + h·U_r + b_r + c_r)``, ``z`` likewise,
    ``n = tanh(x·W_n + b_n + r·(h·U_n + c_n))`` and ``h = (1 - z)·n + z·h``; b is the bias and c the recurrent bias.
    """

    kind: ClassVar[str] = "gru"
    prefix: ClassVar[str] = "gru"
    gates: ClassVar[int] = 3

    def _parameters(self, features: int) -> tuple[Parameter, ...]:
        shape = (3 * self.units,)
        biases = (Parameter(role="bias", shape=shape), Parameter(role="recurrent_bias", shape=shape))
        return (*_Recurrent._parameters(self, features), *biases)


@dataclass(frozen=True, slots=True)
class Conditioned:
    """A recurrent layer over ``sequence`` whose initial state is the final state of ``start``: an encoder-decoder.

    Both branches get the same input. The last layer of ``start`` must be a recurrent layer of the same kind and size.
    """

    kind: ClassVar[str] = "conditioned"
    prefix: ClassVar[str] = "conditioned"
    layer: LSTM | GRU
    _: KW_ONLY
    start: Branch
    sequence: Branch

    def __post_init__(self) -> None:
        last = self.start[-1] if self.start else None
        if type(last) is not type(self.layer) or last.units != self.layer.units:
            raise ModelError(f"Conditioned: start must end with {type(self.layer).__name__}({self.layer.units})")
