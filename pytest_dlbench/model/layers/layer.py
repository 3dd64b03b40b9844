"""The interface of all layers of the neutral vocabulary."""

from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Protocol

from pytest_dlbench.errors import ModelError
from pytest_dlbench.model.shapes import Pair, Shape, show

Role = Literal["weight", "bias", "scale", "shift", "recurrent", "recurrent_bias"]


class DoesNotFit(ModelError):  # noqa: N818 - reads as a sentence where it is raised
    """A layer cannot take its input shape; the model adds which layer it is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameter:
    """One trainable array in the canonical layout.

    Dense weights are ``(inputs, outputs)``, convolution weights ``(outputs, inputs, height, width)``, where the inputs
    are those of one group; the inputs of a dense layer after a flatten are in channel, row, column order. Weights
    start within bounds given by their fans (``model.initial``) or within ±``limit``; scales and the elements from
    ``ones[0]`` up to, but not including, ``ones[1]`` start at 1, everything else at 0.
    """

    role: Role
    shape: Shape
    fan_in: int = 0
    fan_out: int = 0
    limit: float = 0.0
    ones: Pair | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Inferred:
    """What a layer makes of one input shape.

    ``multiply_adds`` counts one forward pass of one sample; pooling, activation and normalisation count as 0, as in
    the sources' own figures. ``geometry`` has what a builder needs and would otherwise infer: resolved padding, sizes.
    """

    output: Shape
    parameters: tuple[Parameter, ...] = ()
    multiply_adds: int = 0
    geometry: dict[str, Any]


class Layer(Protocol):
    """One layer of a model. ``prefix`` is the start of its name in the model.

    Merges (``merging``) and ``Conditioned`` are layers, too; ``network`` expands them.
    """

    prefix: ClassVar[str]

    @property
    def kind(self) -> str:
        """The layer's name in the worker's JSON, which a builder must support."""
        ...


class Chained(Layer, Protocol):
    """A layer with one input."""

    def infer(self, shape: Shape) -> Inferred:
        """Output, parameters and multiply-adds for one sample of this shape; raises DoesNotFit."""
        ...


def require_image(shape: Shape, what: str) -> tuple[int, int, int]:
    """The three sizes of an image; raises DoesNotFit for any other shape."""
    if len(shape) != 3:
        raise DoesNotFit(f"{what} needs an image (channels×height×width), got a vector of {show(shape)}")
    channels, height, width = shape
    return channels, height, width


def require_sequence(shape: Shape, what: str) -> tuple[int, int]:
    """The steps and features of a sequence; raises DoesNotFit for any other shape."""
    if len(shape) != 2:
        raise DoesNotFit(f"{what} needs a sequence (steps×features), got {show(shape)}")
    steps, features = shape
    return steps, features


def require_share(rate: float, what: str) -> None:
    """Raise ModelError for a share that is not in [0, 1)."""
    if not 0 <= rate < 1:
        raise ModelError(f"{what} must be at least 0 and below 1, got {rate!r}")


def require_positive(sizes: tuple[int, ...], what: str) -> None:
    """Raise ModelError for sizes below 1."""
    if any(size < 1 for size in sizes):
        raise ModelError(f"{what} must be 1 or more, got {show(sizes)}")
