"""Chainer: a Chain of links and functions, defined by running it; NumPy computes."""

import ctypes
from functools import partial

import chainer
import chainer.functions as F  # noqa: N812 - the names they have in Chainer's own documentation
import chainer.links as L  # noqa: N812
import numpy as np

from dlworker.protocol import RequestError

SUPPORTS = {
    "avg_pool",
    "batch_norm",
    "conv2d",
    "dense",
    "dropout",
    "flatten",
    "max_pool",
    "relu",
    "sgd",
    "sigmoid",
    "softmax_cross_entropy",
    "tanh",
}
PRECISIONS = ("float32", "float64")


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


def flatten(x):
    """Every example as a vector; F.flatten makes one vector of the batch."""
    return F.reshape(x, (len(x), -1))


def uneven_average_pooling(x, window, stride, sides):
    """Average pooling whose padding differs between the sides; F.average_pooling_2d counts its padding in."""
    one = np.ones((1, 1) + x.shape[2:], x.dtype)
    total, share = (F.average_pooling_2d(F.pad(values, sides, "constant"), window, stride) for values in (x, one))
    return total / F.broadcast_to(share, total.shape)


def conv2d(layer):
    pad, before = _padding(layer, 0.0)
    channels, filters = layer["input"][0], layer["output"][0]
    return before + [
        L.Convolution2D(channels, filters, layer["kernel"], layer["stride"], pad, nobias=not layer["bias"])
    ]


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


LAYERS = {
    "conv2d": conv2d,
    "max_pool": max_pool,
    "avg_pool": avg_pool,
    "batch_norm": batch_norm,
    "dense": lambda layer: [L.Linear(layer["input"][0], layer["output"][0], nobias=not layer["bias"])],
    "flatten": lambda layer: [flatten],
    "dropout": lambda layer: [partial(F.dropout, ratio=layer["rate"])],
    "relu": lambda layer: [F.relu],
    "tanh": lambda layer: [F.tanh],
    "sigmoid": lambda layer: [F.sigmoid],
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
        self.steps = []
        for layer in network["layers"]:
            if layer["kind"] not in LAYERS:
                raise RequestError("unsupported", "the Chainer builder has no layer %r" % layer["kind"])
            for step in LAYERS[layer["kind"]](layer):
                self.steps.append((layer["name"], step))
                if isinstance(step, chainer.Link):
                    self.add_link(layer["name"], step)

    def forward(self, x):
        for _, step in self.steps:
            x = step(x)
        return x


def _text(step):
    """A link as it shows itself, a function by its name and what it is called with."""
    if isinstance(step, chainer.Link):
        return str(step)
    function, keywords = getattr(step, "func", step), getattr(step, "keywords", {})
    return "%s(%s)" % (function.__name__, ", ".join("%s=%s" % pair for pair in keywords.items()))


class NesterovRule(chainer.optimizers.momentum_sgd.MomentumSGDRule):
    """The step looks ahead from the new velocity.

    Chainer's NesterovAG adds momentum² times the new velocity, where its own source (arXiv 1212.0901) has the old one.
    """

    def update_core(self, param):
        velocity, rate, momentum = self.state["v"], self.hyperparam.lr, self.hyperparam.momentum
        velocity *= momentum
        velocity -= rate * param.grad
        param.data += momentum * velocity
        param.data -= rate * param.grad


class Nesterov(chainer.optimizers.MomentumSGD):
    """MomentumSGD with a NesterovRule for every parameter."""

    def create_update_rule(self):
        return NesterovRule(self.hyperparam)


def _optimizer(model, settings):
    if settings["kind"] != "sgd":
        raise RequestError("unsupported", "the Chainer builder has no optimiser %r" % settings["kind"])
    rate, momentum = settings["learning_rate"], settings["momentum"]
    if settings["nesterov"]:
        optimizer = Nesterov(rate, momentum)
    elif momentum:
        optimizer = chainer.optimizers.MomentumSGD(rate, momentum)
    else:
        optimizer = chainer.optimizers.SGD(rate)
    optimizer.setup(model)
    if settings["weight_decay"]:
        optimizer.add_hook(chainer.optimizer_hooks.WeightDecay(settings["weight_decay"]))
    return optimizer


PARAMETERS = {"weight": "W", "bias": "b", "scale": "gamma", "shift": "beta"}


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
        self.layers = network["layers"]
        with chainer.using_config("dtype", self.dtype):
            self.model = Network(network)
        if weights is not None:
            self._set(weights)
        self.optimizer = _optimizer(self.model, recipe["optimizer"])

    def _natives(self):
        """Canonical name, native parameter and whether the native layout is transposed."""
        links = {link.name: link for link in self.model.children()}
        for layer in self.layers:
            for role, attribute in PARAMETERS.items():
                parameter = getattr(links.get(layer["name"]), attribute, None)
                if parameter is not None:
                    # L.Linear keeps (outputs, inputs); convolutions are canonical as they are.
                    yield "%s.%s" % (layer["name"], role), parameter, layer["kind"] == "dense" and role == "weight"

    def _set(self, weights):
        for name, parameter, transposed in self._natives():
            array = weights[name].T if transposed else weights[name]
            if array.shape != parameter.shape:
                raise ValueError("%s: Chainer has %s, the weights %s" % (name, parameter.shape, array.shape))
            parameter.array[...] = array

    def parameters(self):
        return {name: p.shape[::-1] if t else p.shape for name, p, t in self._natives()}

    def describe(self):
        return "\n".join("%-10s %s" % (name, _text(step)) for name, step in self.model.steps)

    def load(self, inputs, labels, order, rates=None):
        self.images, self.labels = self._examples(inputs, labels)
        self.order = np.array(order)

    def _examples(self, images, labels):
        return np.array(images, dtype=self.dtype), np.array(labels, dtype=np.int32)

    def step(self, number):
        index = self.order[number]
        loss = F.softmax_cross_entropy(self.model(self.images[index]), self.labels[index])
        self.model.cleargrads()
        loss.backward()
        self.optimizer.update()
        return loss.array

    def evaluate(self, inputs, labels, batch_size):
        images, labels = self._examples(inputs, labels)
        correct, total = 0, 0.0
        with chainer.using_config("train", False), chainer.no_backprop_mode():
            for first in range(0, len(labels), batch_size):
                x, y = images[first : first + batch_size], labels[first : first + batch_size]
                logits = self.model(x)
                correct += int((logits.array.argmax(axis=1) == y).sum())
                total += float(F.softmax_cross_entropy(logits, y, reduce="no").array.sum())
        return correct, total / len(labels)
