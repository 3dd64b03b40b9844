"""Chainer: a define-by-run Chain of links and functions, computed by NumPy or, on a GPU, by CuPy."""

import dlworker.nvidia_libraries  # noqa: F401  # isort: skip - CuPy needs them, for which Chainer looks when imported

import ctypes
import sys
from functools import reduce

import chainer
import chainer.functions as F  # noqa: N812 - the names they have in Chainer's own documentation
import numpy as np
from chainer.backends import intel64

from dlworker.frameworks.chainer.device import (
    Pinned,
    device_of,
    holds_data,
    libraries,
    mark,
    name_of,
    pinned,
    seconds_between,
    seed_generators,
    sent,
    used_bytes,
)
from dlworker.frameworks.chainer.layers import LAYERS, Network, SequenceGRU, interleaved
from dlworker.frameworks.chainer.losses import LOSSES
from dlworker.frameworks.chainer.optimizers import OPTIMIZERS, optimizer_of, set_rate
from dlworker.frameworks.chainer.precision import MIXED
from dlworker.graph import lengths
from dlworker.protocol import RequestError
from dlworker.staging import InFlight

EXECUTION = ("library=ideep", "library=openblas")
SUPPORTS = {*LAYERS, *LOSSES, *OPTIMIZERS, *MIXED, *EXECUTION, "schedule", "clip_norm", "lengths", "start", "pipeline"}
HOST = chainer.get_device("@numpy")
PRECISIONS = {"float32": np.float32, "float64": np.float64, **MIXED}


def configure(threads):
    """Does nothing: only NumPy's BLAS is threaded, and the driver set its variable before this Python started."""


def threads():
    """The threads of NumPy's OpenBLAS, the only threaded part; None for another BLAS. Chainer itself has none."""
    blas = ctypes.CDLL(np.core._multiarray_umath.__file__)
    for name in ("openblas_get_num_threads64_", "openblas_get_num_threads"):
        if hasattr(blas, name):
            return int(getattr(blas, name)())
    return None


def set_execution(execution, device):
    """Choose iDeep, or refuse what NumPy does not compute with: there is nothing else to set."""
    if "library=ideep" in execution:
        if not intel64.is_ideep_available():
            raise RequestError("unsupported", "Chainer finds no iDeep: %s has no package ideep4py" % sys.prefix)
        chainer.global_config.use_ideep = "auto"
    if "library=openblas" in execution and threads() is None:
        raise RequestError("unsupported", "NumPy %s computes with another BLAS than OpenBLAS" % np.__version__)


def versions():
    """Chainer and, if it found CuPy, CuPy, CUDA and cuDNN; the worker reports NumPy, which computes on a processor."""
    return dict({"chainer": chainer.__version__}, **libraries())


def _text(step):
    """The repr of a link, a function's name and arguments, or the name of a class."""
    if isinstance(step, chainer.Link):
        return str(step)
    function, keywords = getattr(step, "func", step), getattr(step, "keywords", {})
    name = getattr(function, "__name__", type(function).__name__)
    return "%s(%s)" % (name, ", ".join("%s=%s" % pair for pair in keywords.items()))


# Where Chainer keeps an array, by kind and canonical role. NStepGRU has one array per gate.
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
# Kept as (outputs, inputs); convolutions are canonical already.
TRANSPOSED = {("dense", "weight"), ("lstm", "weight"), ("lstm", "recurrent"), ("gru", "weight"), ("gru", "recurrent")}


def _reach(link, path):
    """The array at a path of attributes below a link, or None."""
    return reduce(lambda owner, name: getattr(owner, name, None), path.split("."), link)


class Trainer:
    """The network, its optimiser and the examples, as arrays of NumPy or CuPy."""

    def __init__(self, network, recipe, weights, device, seed):
        self.device = device_of(device)
        # New arrays are on the device that is in use.
        self.device.use()
        if recipe["precision"] not in PRECISIONS:
            raise RequestError("unsupported", "the Chainer builder does not support precision %r" % recipe["precision"])
        seed_generators(self.device, seed)
        self.dtype = np.dtype(recipe["precision"])
        self.network, self.layers = network, network["layers"]
        with chainer.using_config("dtype", PRECISIONS[recipe["precision"]]):
            self.model = Network(network)
        if weights is not None:
            self._set(weights)
        self.model.to_device(self.device)
        self.loss = LOSSES[network["loss"]](network)
        self.optimizer = optimizer_of(self.model, recipe)
        self.in_flight = InFlight()

    def _natives(self):
        """Canonical name, the native parameters that it concatenates, and whether each is transposed."""
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
                    raise ValueError(
                        "%s: Chainer has shape %s, the weights have %s" % (name, parameter.shape, array.shape)
                    )
                parameter.array[...] = array

    def parameters(self):
        shapes = {}
        for name, parameters, transposed in self._natives():
            *others, last = parameters[0].shape[::-1] if transposed else parameters[0].shape
            shapes[name] = tuple(others) + (last * len(parameters),)
        return shapes

    def array(self, name):
        parts = next(parameters for known, parameters, _ in self._natives() if known == name)
        return np.concatenate([HOST.send(part.array).ravel() for part in parts])

    def describe(self):
        return "\n".join("%-10s %s" % (name, _text(step)) for name, step in self.model.steps)

    def computes_on(self):
        name = name_of(self.device)
        return ("gpu", name) if name else ("cpu", "")

    def peak_device_bytes(self):
        return used_bytes(self.device)

    def mark(self):
        return mark(self.device)

    def marked_seconds(self, first, last):
        return seconds_between(self.device, first, last)

    def load(self, inputs, labels, order, rates=None):
        self.feed(inputs, labels)
        self.order, self.rates = np.array(order), rates

    def stage(self, inputs, labels):
        """A batch in NumPy, in memory from which a GPU copies without the processor."""
        return pinned(self.device, (inputs, labels), (self._input_type(), self._label_type()))

    def feed(self, inputs, labels):
        self.lengths = lengths(self.layers, np.asarray(inputs))
        is_staged = isinstance(inputs, Pinned)
        batch = (inputs, labels) if is_staged else self._typed(inputs, labels)
        self.inputs, self.labels = sent(holds_data(self.device), batch, self.in_flight)

    def _input_type(self):
        return np.int32 if "vocabulary" in self.network else self.dtype

    def _label_type(self):
        return np.promote_types(self.dtype, np.float32) if self._is_detector() else np.int32

    def _is_detector(self):
        return self.network["loss"] == "detection"

    def _typed(self, inputs, labels):
        """Copies of the types that steps take."""
        return np.array(inputs, dtype=self._input_type()), np.array(labels, dtype=self._label_type())

    def _inputs(self, inputs):
        return holds_data(self.device).send(np.array(inputs, dtype=self._input_type()))

    def step(self, number):
        loss = self.loss_of(*self.batch(number))
        self.backward(loss)
        self.set_rate(number)
        self.optimizer.update()
        return loss.array

    def batch(self, number):
        """The inputs and labels of a step, and the lengths of its sequences."""
        index = self.order[number]
        of_each = {name: of_all[index] for name, of_all in self.lengths.items()}
        return self.inputs[index], self.labels[index], of_each

    def loss_of(self, inputs, labels, of_each):
        """The loss of a batch."""
        # What a detector trains its second stage on depends on the labels.
        return self.loss(self._logits(inputs, of_each, labels if self._is_detector() else None), labels)

    def backward(self, loss):
        """Compute the gradients."""
        self.model.cleargrads()
        # None without loss scaling. Chainer passes it only to a loss function that the optimiser calls itself.
        loss.backward(loss_scale=self.optimizer._loss_scale)

    def set_rate(self, number):
        """Set the learning rate of a step, if it changes."""
        if self.rates is not None:
            set_rate(self.optimizer, float(self.rates[number]))

    def _logits(self, inputs, of_each, truth=None):
        return F.cast(self.model(inputs, of_each, truth), np.promote_types(self.dtype, np.float32))

    def outputs(self, inputs, batch_size):
        of_all, inputs = lengths(self.layers, np.asarray(inputs)), self._inputs(inputs)
        for first in range(0, len(inputs), batch_size):
            part = slice(first, first + batch_size)
            of_each = {name: found[part] for name, found in of_all.items()}
            with chainer.using_config("train", False), chainer.no_backprop_mode():
                yield HOST.send(self._logits(inputs[part], of_each).array)
