"""What a Transformer is made of, besides dense layers: attention, positions, tied output weights."""

from dataclasses import KW_ONLY, dataclass
from math import inf
from typing import ClassVar

from pytest_dlbench.errors import ModelError
from pytest_dlbench.model.layers.layer import DoesNotFit, Inferred, Parameter, require_positive, require_sequence
from pytest_dlbench.model.shapes import Shape


@dataclass(frozen=True, slots=True)
class Attention:
    """Multi-head self-attention without its projections, which are dense layers around it.

    The input has the queries, keys and values of each step next to each other: ``Dense(3 * features)`` comes before
    it, ``Dense(features)`` after it. Each head takes ``features / heads`` consecutive numbers of each and computes
    ``softmax(q·kᵀ / √(features / heads))·v`` (Vaswani et al. 2017, section 3.2).

    With ``causal``, a step attends to itself and to earlier steps only. After an ``Embedding(padding=…)``, no step
    attends to padding.
    """

    kind: ClassVar[str] = "attention"
    prefix: ClassVar[str] = "attention"
    heads: int
    _: KW_ONLY
    causal: bool = False

    def __post_init__(self) -> None:
        require_positive((self.heads,), "Attention heads")

    def infer(self, shape: Shape) -> Inferred:
        """A third of the features at each step.

        The two products of each head are counted in full, also with ``causal``: only some frameworks skip the half
        that is masked.
        """
        steps, width = require_sequence(shape, "Attention")
        if width % (3 * self.heads):
            raise DoesNotFit(
                f"{width} features cannot be divided into queries, keys and values of {self.heads} heads; put"
                f" Dense(3 * features) before it, with features divisible by {self.heads}"
            )
        features = width // 3
        return Inferred(
            output=(steps, features),
            multiply_adds=2 * steps * steps * features,
            geometry={"heads": self.heads, "causal": self.causal},
        )


@dataclass(frozen=True, slots=True)
class Positions:
    """Adds a trained vector to each step, the same for all sequences. Vectors start uniform within ±limit."""

    kind: ClassVar[str] = "positions"
    prefix: ClassVar[str] = "positions"
    _: KW_ONLY
    limit: float = 0.05

    def __post_init__(self) -> None:
        if not 0 < self.limit < inf:
            raise ModelError(f"Positions limit must be above 0 and finite, got {self.limit!r}")

    def infer(self, shape: Shape) -> Inferred:
        """The same shape."""
        require_sequence(shape, "Positions")
        weight = Parameter(role="weight", shape=shape, limit=self.limit)
        return Inferred(output=shape, parameters=(weight,), geometry={})


@dataclass(frozen=True, slots=True)
class TiedDense:
    """A dense layer without bias to the tokens, with the transposed weights of the model's only embedding.

    Embedding and output share one array, which gets the sum of both gradients (Press & Wolf 2017).
    """

    kind: ClassVar[str] = "tied_dense"
    prefix: ClassVar[str] = "tied"
    vocabulary: int

    def __post_init__(self) -> None:
        require_positive((self.vocabulary,), "TiedDense vocabulary")

    def infer(self, shape: Shape) -> Inferred:
        """A number for each token at each step; the parameters are those of the embedding."""
        steps, features = require_sequence(shape, "TiedDense")
        return Inferred(output=(steps, self.vocabulary), multiply_adds=steps * features * self.vocabulary, geometry={})


@dataclass(frozen=True, slots=True)
class FirstStep:
    """The features of the first step of a sequence, from which BERT classifies it (Devlin et al. 2019)."""

    kind: ClassVar[str] = "first_step"
    prefix: ClassVar[str] = "first"

    def infer(self, shape: Shape) -> Inferred:
        """A vector."""
        _, features = require_sequence(shape, "FirstStep")
        return Inferred(output=(features,), geometry={})
