"""A model and its input shape, inferred layer by layer: what has to be built, and what it costs."""

import hashlib
import json
from collections import Counter
from dataclasses import dataclass
from functools import lru_cache
from math import prod
from typing import Any

from pytest_dlbench.errors import ModelError
from pytest_dlbench.model.layers import DoesNotFit, Inferred, Layer, Parameter
from pytest_dlbench.model.model import Model
from pytest_dlbench.model.shapes import Shape, show


@dataclass(frozen=True, slots=True, kw_only=True)
class Placed:
    """A layer at its place in a network."""

    name: str
    layer: Layer
    input: Shape
    inferred: Inferred

    @property
    def parameters(self) -> dict[str, Parameter]:
        """Trainable arrays by their full name, such as ``conv1.weight``."""
        return {f"{self.name}.{parameter.role}": parameter for parameter in self.inferred.parameters}


@dataclass(frozen=True, slots=True, kw_only=True)
class Network:
    """The layers with their shapes, parameters and multiply-adds for one sample."""

    model: Model
    layers: tuple[Placed, ...]

    @property
    def parameters(self) -> dict[str, Parameter]:
        """All trainable arrays by name, in the order of the layers."""
        return {name: parameter for placed in self.layers for name, parameter in placed.parameters.items()}

    @property
    def parameter_count(self) -> int:
        """Trainable numbers, biases and batch-norm scales included, running statistics not."""
        return sum(prod(parameter.shape) for parameter in self.parameters.values())

    @property
    def multiply_adds(self) -> int:
        """Multiply-adds of one forward pass of one sample; training costs about three times as much."""
        return sum(placed.inferred.multiply_adds for placed in self.layers)

    def as_json(self) -> dict[str, Any]:
        """What the worker gets: every size resolved, so that a builder infers nothing."""
        return {
            "input": list(self.model.input_shape),
            "classes": self.model.head.classes,
            "loss": "softmax_cross_entropy",
            "layers": [_layer_json(placed) for placed in self.layers],
        }

    @property
    def digest(self) -> str:
        """A hash of what is built: two models with one digest are the same network."""
        text = json.dumps(self.as_json(), sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()[:16]


def _layer_json(placed: Placed) -> dict[str, Any]:
    shapes = {"input": placed.input, "output": placed.inferred.output}
    return {"kind": placed.layer.kind, "name": placed.name, **shapes, **placed.inferred.geometry}


@lru_cache(maxsize=4096)
def infer(model: Model) -> Network:
    """The network that the model is for its own input shape; raises ModelError with the layer that does not fit."""
    seen: Counter[str] = Counter()
    placed: list[Placed] = []
    shape = model.input_shape
    for position, layer in enumerate(model.layers, start=1):
        seen[layer.prefix] += 1
        name = f"{layer.prefix}{seen[layer.prefix]}"
        try:
            inferred = layer.infer(shape)
        except DoesNotFit as error:
            where = f"model {model.name!r}, input {show(model.input_shape)}: layer {position} ({name}, {layer})"
            raise ModelError(f"{where} does not fit: {error}") from error
        placed.append(Placed(name=name, layer=layer, input=shape, inferred=inferred))
        shape = inferred.output
    _check_head(model, shape)
    return Network(model=model, layers=tuple(placed))


def _check_head(model: Model, shape: Shape) -> None:
    if shape != (model.head.classes,):
        raise ModelError(
            f"model {model.name!r}: the last layer gives {show(shape)}, but its softmax head has"
            f" {model.head.classes} classes; end with Dense({model.head.classes})"
        )
