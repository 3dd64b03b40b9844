"""A model with all shapes inferred, layer by layer: what has to be built, and what it costs."""

import hashlib
import json
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from math import prod
from typing import Any, cast

from pytest_dlbench.errors import ModelError
from pytest_dlbench.model.heads import DetectionLoss, SequenceCrossEntropy
from pytest_dlbench.model.layers import (
    GRU,
    LSTM,
    Add,
    Attention,
    Branch,
    Chained,
    Concat,
    Conditioned,
    Conv2D,
    Dense,
    Detections,
    DoesNotFit,
    Embedding,
    Inferred,
    Layer,
    Parameter,
    RegionProposals,
    RoIAlign,
    TiedDense,
)
from pytest_dlbench.model.layers.detection import BOX
from pytest_dlbench.model.model import Model
from pytest_dlbench.model.shapes import Shape, show

INPUT = "input"
"""The name of the network's own input among the inputs of layers."""


LABEL = 6
"""Numbers of an object's label, as data sets have them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Placed:
    """A layer at its position in a network. ``inputs`` are names of earlier layers, or INPUT.

    ``more`` is what a builder must know about the position: ``lengths`` names the embedding that determines the
    lengths of sequences, ``start`` the layer whose last state is the initial state of a recurrent layer, ``embedding``
    the layer whose weights a tied layer uses.
    """

    name: str
    layer: Layer
    inputs: tuple[str, ...]
    input: Shape
    inferred: Inferred
    more: dict[str, Any]

    @property
    def parameters(self) -> dict[str, Parameter]:
        """Trainable arrays by full name, such as ``conv1.weight``."""
        return {f"{self.name}.{parameter.role}": parameter for parameter in self.inferred.parameters}


@dataclass(frozen=True, slots=True, kw_only=True)
class Network:
    """The layers with their shapes, parameters and multiply-adds for one sample, each after all of its inputs."""

    model: Model
    layers: tuple[Placed, ...]

    @property
    def parameters(self) -> dict[str, Parameter]:
        """All trainable arrays by name, in the order of the layers."""
        return {name: parameter for placed in self.layers for name, parameter in placed.parameters.items()}

    @property
    def parameter_count(self) -> int:
        """Trainable numbers, including biases and batch-norm scales, without running statistics."""
        return sum(prod(parameter.shape) for parameter in self.parameters.values())

    @property
    def multiply_adds(self) -> int:
        """Multiply-adds of one forward pass of one sample; training costs about three times as much."""
        return sum(placed.inferred.multiply_adds for placed in self.layers)

    @property
    def output(self) -> Shape:
        """The output shape of the last layer for one sample."""
        return self.layers[-1].inferred.output

    @property
    def label_shape(self) -> Shape:
        """() for a class, (steps,) for a token at each step, (flags,) for flags, (objects, 6) for boxes."""
        if self.model.head.task == "class":
            return ()
        if isinstance(self.model.head, DetectionLoss):
            return (self.model.head.objects, LABEL)
        return self.output[:1]

    def as_json(self) -> dict[str, Any]:
        """The JSON that the worker gets, with every size resolved, so that a builder infers nothing.

        A layer's ``inputs`` are omitted if they are just the previous layer, or the network's input for the first one.
        """
        head = self.model.head
        described = {"input": list(self.model.input_shape), "classes": head.classes, "loss": head.loss}
        if self.model.vocabulary:
            described["vocabulary"] = self.model.vocabulary
        if isinstance(head, SequenceCrossEntropy):
            described["ignored"] = head.ignored
        before = [INPUT, *(placed.name for placed in self.layers)]
        return {**described, "layers": [_layer_json(*pair) for pair in zip(self.layers, before, strict=False)]}

    @property
    def digest(self) -> str:
        """A hash of what is built: models with the same digest are the same network."""
        text = json.dumps(self.as_json(), sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()[:16]


def _layer_json(placed: Placed, before: str) -> dict[str, Any]:
    shapes = {"input": placed.input, "output": placed.inferred.output}
    inputs = {} if placed.inputs == (before,) else {"inputs": placed.inputs}
    named = {"kind": placed.layer.kind, "name": placed.name, **shapes}
    return {**named, **inputs, **placed.inferred.geometry, **placed.more}


@lru_cache(maxsize=4096)
def infer(model: Model) -> Network:
    """The network of a model, inferred from its input shape; raises ModelError, naming the layer that does not fit."""
    placing = _Placing(model)
    end = placing.chain(model.layers, _Value(INPUT, model.input_shape))
    head = model.head
    if not head.fits(end.shape):
        raise ModelError(
            f"model {model.name!r}: the output of the last layer, {show(end.shape)}, does not fit its head,"
            f" {type(head).__name__}; end with {head.ending}"
        )
    if end.lengths and isinstance(head, SequenceCrossEntropy) and head.ignored is None:
        raise ModelError(
            f"model {model.name!r}: outputs after the end of a sequence are meaningless, but its head counts the"
            " labels there; set the head's ignored label, or give the embedding no padding"
        )
    return Network(model=model, layers=tuple(placing.placed))


@dataclass(frozen=True, slots=True)
class _Value:
    """The output of a layer: its name, the shape of a sample, and the embedding that determines sequence lengths."""

    name: str
    shape: Shape
    lengths: str | None = None


@dataclass(frozen=True, slots=True)
class _Proposed:
    """The features that regions were proposed from, the scores and moves of the anchors, and the regions."""

    features: _Value
    scores: _Value
    moves: _Value
    regions: _Value
    stride: int


class _Placing:
    """Walks through the layers and their branches and places each after its inputs."""

    def __init__(self, model: Model) -> None:
        self._model = model
        self._seen: Counter[str] = Counter()
        self._proposed: _Proposed | None = None
        self.placed: list[Placed] = []

    def chain(self, layers: Branch, value: _Value) -> _Value:
        for layer in layers:
            value = self._layer(layer, value)
        return value

    def _layer(self, layer: Layer, value: _Value) -> _Value:
        if isinstance(layer, Add | Concat):
            return self._merge(layer, value)
        if isinstance(layer, Conditioned):
            return self._conditioned(layer, value)
        if isinstance(layer, RegionProposals):
            return self._propose(layer, value)
        if isinstance(layer, RoIAlign):
            return self._align(layer, value)
        if isinstance(layer, Detections):
            return self._detect(layer, value)
        return self._chained(cast("Chained", layer), value)

    def _chained(self, layer: Chained, value: _Value, start: str | None = None) -> _Value:
        inferred = self._inferred(layer, value.shape)
        more = {"start": start} if start else {}
        if isinstance(layer, LSTM | GRU | Attention) and value.lengths:
            more["lengths"] = value.lengths
        if isinstance(layer, TiedDense):
            more["embedding"] = self._tied(layer, value.shape)
        name = self._place(layer, (value,), inferred, more)
        if isinstance(layer, Embedding) and layer.padding is not None:
            return _Value(name, inferred.output, name)
        return _Value(name, inferred.output, value.lengths)

    def _tied(self, layer: TiedDense, shape: Shape) -> str:
        """The name of the only embedding, whose weights must have the shape that the layer needs."""
        shapes = {
            placed.name: placed.inferred.parameters[0].shape
            for placed in self.placed
            if isinstance(placed.layer, Embedding)
        }
        wanted = (layer.vocabulary, shape[-1])
        if list(shapes.values()) != [wanted]:
            found = ", ".join(map(show, shapes.values())) or "none"
            raise ModelError(
                f"model {self._model.name!r}: {layer} after {show(shape)} needs one embedding before it, of"
                f" {show(wanted)}, got {found}"
            )
        return next(iter(shapes))

    def _merge(self, layer: Add | Concat, value: _Value) -> _Value:
        ends = tuple(self.chain(branch, value) for branch in layer.branches)
        inferred = self._inferred(layer, tuple(end.shape for end in ends))
        return _Value(self._place(layer, ends, inferred, {}), inferred.output, ends[0].lengths)

    def _conditioned(self, layer: Conditioned, value: _Value) -> _Value:
        start = self.chain(layer.start, value)
        return self._chained(layer.layer, self.chain(layer.sequence, value), start.name)

    def _propose(self, layer: RegionProposals, value: _Value) -> _Value:
        hidden, count = self.chain(layer.trunk, value), len(layer.anchors.shapes)
        scores = self._chained(Conv2D(count, 1), hidden)
        moves = self._chained(Conv2D(BOX * count, 1), hidden)
        head, image = self._model.head, self._model.input_shape
        if not isinstance(head, DetectionLoss):
            raise ModelError(f"model {self._model.name!r}: RegionProposals needs the head DetectionLoss")
        inferred = self._fitted(layer, lambda: layer.propose(scores.shape, image, head.objects))
        regions = _Value(self._place(layer, (scores, moves), inferred, {}), inferred.output)
        self._proposed = _Proposed(value, scores, moves, regions, layer.anchors.stride)
        return regions

    def _align(self, layer: RoIAlign, value: _Value) -> _Value:
        proposed = self._proposed
        if proposed is None or value != proposed.regions:
            raise ModelError(f"model {self._model.name!r}: RoIAlign must follow RegionProposals")
        features = proposed.features
        inferred = self._fitted(layer, lambda: layer.align(features.shape, value.shape, proposed.stride))
        return _Value(self._place(layer, (features, value), inferred, {}), inferred.output)

    def _detect(self, layer: Detections, value: _Value) -> _Value:
        proposed = self._proposed
        if proposed is None or value.shape[0] != proposed.regions.shape[0]:
            raise ModelError(f"model {self._model.name!r}: Detections needs RegionProposals and RoIAlign before it")
        kinds = layer.classes + 1
        ends = (self._chained(Dense(kinds), value), self._chained(Dense(BOX * kinds), value))
        inferred = self._fitted(layer, lambda: layer.gather(proposed.scores.shape, value.shape))
        inputs = (proposed.scores, proposed.moves, proposed.regions, *ends)
        return _Value(self._place(layer, inputs, inferred, {}), inferred.output)

    def _inferred(self, layer: Any, shape: Any) -> Inferred:
        return self._fitted(
            layer, lambda: layer.merge(shape) if isinstance(layer, Add | Concat) else layer.infer(shape)
        )

    def _fitted(self, layer: Layer, infer: Callable[[], Inferred]) -> Inferred:
        try:
            return infer()
        except DoesNotFit as error:
            position = f"{layer.prefix}{self._seen[layer.prefix] + 1}"
            where = f"layer {len(self.placed) + 1} ({position}, {layer})"
            raise ModelError(
                f"model {self._model.name!r}, input {show(self._model.input_shape)}: {where} does not fit: {error}"
            ) from error

    def _place(self, layer: Layer, inputs: tuple[_Value, ...], inferred: Inferred, more: dict[str, Any]) -> str:
        self._seen[layer.prefix] += 1
        name = f"{layer.prefix}{self._seen[layer.prefix]}"
        names = tuple(value.name for value in inputs)
        placed = Placed(name=name, layer=layer, inputs=names, input=inputs[0].shape, inferred=inferred, more=more)
        self.placed.append(placed)
        return name
