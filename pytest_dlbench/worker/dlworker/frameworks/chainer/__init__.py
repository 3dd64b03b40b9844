"""Chainer: a Chain of links and functions, defined by running it; NumPy computes."""

import ctypes
from functools import partial, reduce

import chainer
import chainer.functions as F  # noqa: N812 - the names they have in Chainer's own documentation
import chainer.links as L  # noqa: N812
import numpy as np

from dlworker.frameworks.chainer.layers import (
    SequenceGRU,
    SequenceLSTM,
    StepwiseLinear,
    concat,
    cut,
    flatten,
    interleaved,
    uneven_average_pooling,
)
from dlworker.frameworks.chainer.optimizers import optimizer_of, set_rate
from dlworker.frameworks.chainer.precision import Convolution2D, EmbedID, Linear, widened
from dlworker.graph import is_chain, run, wired
from dlworker.protocol import RequestError

SUPPORTS = {
    "adadelta",
    "adam",
    "add",
    "avg_pool",
    "batch_norm",
    "clip_norm",
    "concat",
    "conv2d",
    "cut",
    "dense",
    "dropout",
    "embedding",
    "flatten",
    "float16",
    "grouped_conv2d",
    "gru",
    "lengths",
    "local_response_norm",
    "log_softmax",
    "lstm",
    "max_pool",
    "pad_channels",
    "pipeline",
    "relu",
    "rmsprop",
    "schedule",
    "sequence_cross_entropy",
    "sgd",
    "sigmoid",
    "sigmoid_cross_entropy",
    "softmax_cross_entropy",
    "start",
    "tanh",
}
PRECISIONS = {"float32": np.float32, "float64": np.float64, "float16": chainer.mixed16}


def configure(threads):
    """Nothing: only NumPy's BLAS has threads, whose variable the driver set before this Python started."""


def threads():
    """The number of NumPy's OpenBLAS, the one part with threads; None for another BLAS. Chainer itself has none."""
    blas = ctypes.CDLL(np.core._multiarray_umath.__file__)
    for name in ("openblas_get_num_threads64_", "openblas_get_num_threads"):
        if hasattr(blas, name):
            return int(getattr(blas, name)())
    return None


def versions():
    """Chainer; the NumPy that it computes with is told by the worker."""
    return {"chainer": chainer.__version__}


def conv2d(layer):
    pad, before = _padding(layer, 0.0)
    channels, filters = layer["input"][0], layer["output"][0]
    settings = {"nobias": not layer["bias"], "groups": layer.get("groups", 1)}
    return before + [Convolution2D(channels, filters, layer["kernel"], layer["stride"], pad, **settings)]


def max_pool(layer):
    pad, before = _padding(layer, -np.inf)
    # Without cover_all=False a window that is only partly filled would count, too.
    pool = partial(F.max_pooling_2d, ksize=layer["window"], stride=layer["stride"], pad=pad, cover_all=False)
    return before + [pool]


def avg_pool(layer):
    window, stride = layer["window"], layer["stride"]
    if any(first != last for first, last in layer["padding"]):
        return [partial(uneven_average_pooling, window=window, stride=stride, sides=_sides(layer))]
    pad = tuple(first for first, _ in layer["padding"])
    if any(pad):
        # No value for the padding: it is not counted. F.average_pooling_2d has no such choice.
        return [partial(F.average_pooling_nd, ksize=window, stride=stride, pad=pad, pad_value=None)]
    return [partial(F.average_pooling_2d, ksize=window, stride=stride)]


def batch_norm(layer):
    return [L.BatchNormalization(layer["input"][0], decay=layer["decay"], eps=layer["epsilon"])]


def dense(layer):
    kind = StepwiseLinear if len(layer["input"]) == 2 else Linear
    return [kind(layer["input"][-1], layer["output"][-1], nobias=not layer["bias"])]


def local_response_norm(layer):
    # Chainer does not divide alpha by the size.
    settings = {"n": layer["size"], "k": layer["k"], "alpha": layer["alpha"] / layer["size"], "beta": layer["beta"]}
    return [partial(widened, compute=F.local_response_normalization, **settings)]


def pad_channels(layer):
    width = [(0, 0), (0, layer["added"]), (0, 0), (0, 0)]
    return [partial(F.pad, pad_width=width, mode="constant", constant_values=0.0)]


LAYERS = {
    "add": lambda layer: [F.add],
    "avg_pool": avg_pool,
    "batch_norm": batch_norm,
    "concat": lambda layer: [partial(concat, axis=2 if len(layer["output"]) == 2 else 1)],
    "conv2d": conv2d,
    "cut": lambda layer: [partial(cut, first=layer["first"], last=layer["last"])],
    "dense": dense,
    "dropout": lambda layer: [partial(F.dropout, ratio=layer["rate"])],
    "embedding": lambda layer: [EmbedID(layer["vocabulary"], layer["output"][-1])],
    "flatten": lambda layer: [flatten],
    "grouped_conv2d": conv2d,
    "gru": lambda layer: [SequenceGRU(layer)],
    "local_response_norm": local_response_norm,
    "log_softmax": lambda layer: [partial(widened, compute=F.log_softmax, axis=-1)],
    "lstm": lambda layer: [SequenceLSTM(layer)],
    "max_pool": max_pool,
    "pad_channels": pad_channels,
    "relu": lambda layer: [F.relu],
    "sigmoid": lambda layer: [F.sigmoid],
    "tanh": lambda layer: [F.tanh],
}


def _sides(layer):
    return [(0, 0), (0, 0)] + [tuple(sides) for sides in layer["padding"]]


def _padding(layer, value):
    """The padding that the function does itself, and the function that must come before it."""
    if all(first == last for first, last in layer["padding"]):
        return tuple(first for first, _ in layer["padding"]), []
    return (0, 0), [partial(F.pad, pad_width=_sides(layer), mode="constant", constant_values=value)]


class Network(chainer.Chain):
    """The neutral network; a layer's link bears its name."""

    def __init__(self, network):
        super().__init__()
        self.layers = network["layers"]
        self.nodes = wired(self.layers)
        self.is_chain = is_chain(self.layers) and not any(layer["kind"] in ("lstm", "gru") for layer in self.layers)
        self.steps = []
        for layer in self.layers:
            for step in LAYERS[layer["kind"]](layer):
                self.steps.append((layer["name"], step))
                if isinstance(step, chainer.Link):
                    self.add_link(layer["name"], step)

    def forward(self, x):
        if not self.is_chain:
            return self._graph(x)
        for _, step in self.steps:
            x = step(x)
        return x

    def _graph(self, x):
        """Where layers do not simply follow each other, or hand on more than their output."""
        steps, lengths, states = {}, {}, {}
        for name, step in self.steps:
            steps.setdefault(name, []).append(step)

        def call(layer, values):
            name = layer["name"]
            if layer["kind"] == "embedding" and layer["padding"] is not None:
                lengths[name] = (values[0] != layer["padding"]).sum(axis=1)
            if layer["kind"] in ("lstm", "gru"):
                start = states.get(layer.get("start"))
                made, states[name] = steps[name][0](values[0], lengths.get(layer.get("lengths")), start)
                return made
            for step in steps[name]:
                values = [step(*values)]
            return values[0]

        return run(self.nodes, x, call)


def _text(step):
    """A link as it shows itself, a function by its name and what it is called with."""
    if isinstance(step, chainer.Link):
        return str(step)
    function, keywords = getattr(step, "func", step), getattr(step, "keywords", {})
    return "%s(%s)" % (function.__name__, ", ".join("%s=%s" % pair for pair in keywords.items()))


def loss_of(network):
    """The mean loss, as a function (logits, labels)."""
    if network["loss"] == "sigmoid_cross_entropy":
        return lambda logits, labels: F.sigmoid_cross_entropy(logits, labels.reshape(logits.shape))
    # There is no class -1.
    ignored = -1 if network.get("ignored") is None else network["ignored"]

    def softmax_cross_entropy(logits, labels):
        rows = F.reshape(logits, (-1, logits.shape[-1])) if logits.ndim == 3 else logits
        return F.softmax_cross_entropy(rows, labels.reshape(-1), ignore_label=ignored)

    return softmax_cross_entropy


# Where Chainer keeps an array, by kind and canonical role. NStepGRU has one for each gate.
ARRAYS = {"weight": ["W"], "bias": ["b"], "scale": ["gamma"], "shift": ["beta"]}
ARRAYS_OF = {
    "lstm": {"weight": ["upward.W"], "recurrent": ["lateral.W"], "bias": ["upward.b"]},
    "gru": {
        "weight": ["w0", "w1", "w2"],
        "recurrent": ["w3", "w4", "w5"],
        "bias": ["b0", "b1", "b2"],
        "recurrent_bias": ["b3", "b4", "b5"],
    },
}
# Kept as (outputs, inputs); convolutions are canonical as they are.
TRANSPOSED = {("dense", "weight"), ("lstm", "weight"), ("lstm", "recurrent"), ("gru", "weight"), ("gru", "recurrent")}


def _reach(link, path):
    """An array of a link or of its part, or None where it has none."""
    return reduce(lambda owner, name: getattr(owner, name, None), path.split("."), link)


class Trainer:
    """The network, its optimiser and the examples, as NumPy arrays."""

    def __init__(self, network, recipe, weights, device, seed):
        if device != "cpu":
            message = "device %r: Chainer takes no CuPy after version 7, of 2020; this builder is for the CPU" % device
            raise RequestError("unsupported", message)
        if recipe["precision"] not in PRECISIONS:
            raise RequestError("unsupported", "the Chainer builder has no precision %r" % recipe["precision"])
        # Initialisers and dropout both draw from NumPy's own generator.
        np.random.seed(seed)
        self.dtype = np.dtype(recipe["precision"])
        self.network, self.layers = network, network["layers"]
        with chainer.using_config("dtype", PRECISIONS[recipe["precision"]]):
            self.model = Network(network)
        if weights is not None:
            self._set(weights)
        self.loss = loss_of(network)
        self.optimizer = optimizer_of(self.model, recipe)

    def _natives(self):
        """Canonical name, the native parameters that stand side by side in it, and whether each is transposed."""
        links = {link.name: link for link in self.model.children()}
        for layer in self.layers:
            kind, link = layer["kind"], links.get(layer["name"])
            owner = link.rnn[0] if isinstance(link, SequenceGRU) else link
            for role, paths in ARRAYS_OF.get(kind, ARRAYS).items():
                parameters = [_reach(owner, path) for path in paths]
                if parameters[0] is not None:
                    yield "%s.%s" % (layer["name"], role), parameters, (kind, role) in TRANSPOSED

    def _set(self, weights):
        kinds = {layer["name"]: layer["kind"] for layer in self.layers}
        for name, parameters, transposed in self._natives():
            whole = interleaved(weights[name]) if kinds[name.split(".")[0]] == "lstm" else weights[name]
            for parameter, part in zip(parameters, np.split(whole, len(parameters), axis=-1)):
                array = part.T if transposed else part
                if array.shape != parameter.shape:
                    raise ValueError("%s: Chainer has %s, the weights %s" % (name, parameter.shape, array.shape))
                parameter.array[...] = array

    def parameters(self):
        shapes = {}
        for name, parameters, transposed in self._natives():
            *others, last = parameters[0].shape[::-1] if transposed else parameters[0].shape
            shapes[name] = tuple(others) + (last * len(parameters),)
        return shapes

    def describe(self):
        return "\n".join("%-10s %s" % (name, _text(step)) for name, step in self.model.steps)

    def load(self, inputs, labels, order, rates=None):
        self.feed(inputs, labels)
        self.order, self.rates = np.array(order), rates

    def feed(self, inputs, labels):
        self.inputs, self.labels = self._inputs(inputs), np.array(labels, dtype=np.int32)

    def _inputs(self, inputs):
        return np.array(inputs, dtype=np.int32 if "vocabulary" in self.network else self.dtype)

    def step(self, number):
        index = self.order[number]
        loss = self.loss(self._logits(self.inputs[index]), self.labels[index])
        self.model.cleargrads()
        # None but with loss scaling. Chainer tells it only to a loss function that the optimiser calls itself.
        loss.backward(loss_scale=self.optimizer._loss_scale)
        if self.rates is not None:
            set_rate(self.optimizer, float(self.rates[number]))
        self.optimizer.update()
        return loss.array

    def _logits(self, inputs):
        return F.cast(self.model(inputs), np.promote_types(self.dtype, np.float32))

    def outputs(self, inputs, batch_size):
        inputs = self._inputs(inputs)
        for first in range(0, len(inputs), batch_size):
            with chainer.using_config("train", False), chainer.no_backprop_mode():
                yield self._logits(inputs[first : first + batch_size]).array
