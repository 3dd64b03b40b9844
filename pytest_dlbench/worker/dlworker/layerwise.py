"""The layers of a network one by one, forward and backward, each waited for: a part of a breakdown.

A pass goes through the network as the framework's own does, but stops after every layer: each gets what the layers
before it computed, and in the backward pass the gradient of what it computed. No parameter changes. A framework has it
by the function ``layerwise`` in the module ``layerwise`` of its folder (``dlworker.frameworks``).
"""

from time import monotonic

from dlworker.breakdown import UndividedError
from dlworker.graph import INPUT, wired
from dlworker.profiling import name_of, part_of

# What a layer may read besides the values of its inputs: builders hand it over only in the network as a whole.
ELSEWHERE = ("embedding", "lengths", "start")
# The name of the loss in the results: the last that is computed forward, and the first backward.
LOSS = "loss"


class Layers(object):
    """The layers of a trainer's network; the base of those of frameworks.

    ``batch(number)`` returns the inputs and the labels of a step. ``forward(layer, values, is_first)`` returns the
    output of a layer and what its backward pass needs; ``is_first`` says that the values are the network's inputs, of
    which there is no gradient. ``backward(kept, gradient)`` returns a gradient for each of the values, or None where
    there is none. ``loss(logits, labels)`` returns the loss and what its backward pass needs, and ``loss_gradient`` of
    that the gradient of the logits.
    """

    def __init__(self, trainer):
        self.trainer = trainer
        self.nodes = [(layer, inputs) for layer, inputs, _ in wired(trainer.network["layers"])]

    def wait(self, computed):
        """Wait until it is computed."""


def layers_of(builder, trainer):
    """The layers of a builder's trainer; raises UndividedError."""
    found = part_of(builder, "layerwise", "layerwise")
    if found is None:
        raise UndividedError("no_layers", name_of(builder))
    if trainer.network["loss"] == "detection":
        raise UndividedError("network", "detector")
    for layer in trainer.network["layers"]:
        for key in ELSEWHERE:
            if key in layer:
                raise UndividedError("network", "%s of the layer %s" % (key, layer["name"]))
    return found(trainer)


def timed(layers, number):
    """{layer: (seconds of its forward pass, of its backward pass)} of a step's batch, in order, the loss last."""
    inputs, labels = layers.batch(number)
    layers.wait(inputs)
    clock, values, kept, name = Clock(layers), {INPUT: inputs}, {}, INPUT
    for layer, sources in layers.nodes:
        name = layer["name"]
        given = [values[source] for source in sources]
        values[name], kept[name] = clock.forward(name, layers.forward, layer, given, INPUT in sources)
    _, kept[LOSS] = clock.forward(LOSS, layers.loss, values[name], labels)
    gradients = {name: clock.backward(LOSS, layers.loss_gradient, kept.pop(LOSS))}
    for layer, sources in reversed(layers.nodes):
        name = layer["name"]
        for source, gradient in zip(
            sources, clock.backward(name, layers.backward, kept.pop(name), gradients.pop(name))
        ):
            if gradient is not None:
                gradients[source] = gradients[source] + gradient if source in gradients else gradient
    return clock.seconds()


class Clock(object):
    """Calls what computes a layer, and waits for it."""

    def __init__(self, layers):
        self.layers, self._forward, self._backward = layers, {}, {}

    def forward(self, name, call, *given):
        return self._timed(self._forward, name, call, given)

    def backward(self, name, call, *given):
        return self._timed(self._backward, name, call, given)

    def _timed(self, seconds, name, call, given):
        began = monotonic()
        found = call(*given)
        self.layers.wait(found)
        seconds[name] = monotonic() - began
        return found

    def seconds(self):
        return {name: (self._forward[name], self._backward[name]) for name in self._forward}


class LayerTimes(object):
    """The seconds of every layer over several passes."""

    def __init__(self, layers):
        self.layers, self._found = layers, {}

    def add(self, number, counts):
        """Make a pass with the batch of a step; what it takes is kept if it ``counts``."""
        for name, pair in timed(self.layers, number).items():
            if counts:
                self._found.setdefault(name, []).append(pair)

    def answer(self):
        """The fields of the answer."""
        kinds = {layer["name"]: layer["kind"] for layer, _ in self.layers.nodes}
        return [
            {"name": name, "kind": kinds.get(name, LOSS), "forward_seconds": forward, "backward_seconds": backward}
            for name, (forward, backward) in ((name, zip(*pairs)) for name, pairs in self._found.items())
        ]
