"""PaddlePaddle: an nn.Sequential, or a layer of one's own where branches meet, trained in dynamic mode.

Images are channels first, as all of Paddle's layers want them.
"""

import ctypes
import os
from functools import partial, reduce

import numpy as np
import paddle
import paddle.nn.functional as F  # noqa: N812 - the name it has in Paddle's own documentation
from paddle import nn

from dlworker.frameworks.paddle.layers import (
    Add,
    AvgPoolInDouble,
    BatchNorm,
    BatchNormInDouble,
    BatchNormInProgram,
    Concat,
    Cut,
    Graph,
    LinearInProgram,
    LocalResponseNormInDouble,
    PadChannels,
    Recurrent,
    sides,
)
from dlworker.frameworks.paddle.optimizers import optimizer
from dlworker.frameworks.paddle.precision import is_compiled, mixed_precision
from dlworker.graph import is_chain
from dlworker.protocol import RequestError

SUPPORTS = {
    "adadelta",
    "adam",
    "add",
    "avg_pool",
    "batch_norm",
    "bfloat16",
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


def configure(threads):
    """Paddle reads OMP_NUM_THREADS, which the driver set before this Python started."""


def threads():
    """Threads of the OpenMP runtime that Paddle brings for MKL and its kernels; Paddle itself can set but not tell."""
    folder = os.path.join(os.path.dirname(paddle.__file__), "libs")
    return ctypes.CDLL(os.path.join(folder, "libiomp5.so")).omp_get_max_threads()


def versions():
    """Paddle and, where there are, CUDA and cuDNN (Paddle calls them "False" where there are none)."""
    found = {"paddle": paddle.__version__, "cuda": paddle.version.cuda(), "cudnn": paddle.version.cudnn()}
    return {name: str(version) for name, version in found.items() if version != "False"}


def conv2d(layer):
    channels, filters, padding = layer["input"][0], layer["output"][0], sides(layer["padding"])
    settings = {"groups": layer.get("groups", 1), "bias_attr": None if layer["bias"] else False}
    return nn.Conv2D(channels, filters, layer["kernel"], layer["stride"], padding, **settings)


def dense(layer, kind=nn.Linear):
    # Of a sequence nn.Linear takes the features of each step.
    return kind(layer["input"][-1], layer["output"][-1], bias_attr=None if layer["bias"] else False)


def local_response_norm(layer):
    return nn.LocalResponseNorm(layer["size"], alpha=layer["alpha"], beta=layer["beta"], k=layer["k"])


LAYERS = {
    "conv2d": conv2d,
    "grouped_conv2d": conv2d,
    "dense": dense,
    "max_pool": lambda layer: nn.MaxPool2D(layer["window"], layer["stride"], sides(layer["padding"])),
    "avg_pool": lambda layer: nn.AvgPool2D(layer["window"], layer["stride"], sides(layer["padding"]), exclusive=True),
    "batch_norm": BatchNorm,
    "local_response_norm": local_response_norm,
    "dropout": lambda layer: nn.Dropout(layer["rate"]),
    "flatten": lambda layer: nn.Flatten(),
    "relu": lambda layer: nn.ReLU(),
    "tanh": lambda layer: nn.Tanh(),
    "sigmoid": lambda layer: nn.Sigmoid(),
    "log_softmax": lambda layer: nn.LogSoftmax(),
    "pad_channels": PadChannels,
    "add": lambda layer: Add(),
    "concat": lambda layer: Concat(),
    "cut": Cut,
    "embedding": lambda layer: nn.Embedding(layer["vocabulary"], layer["output"][-1]),
    "lstm": Recurrent,
    "gru": Recurrent,
}
IN_DOUBLE = {
    "batch_norm": BatchNormInDouble,
    "avg_pool": AvgPoolInDouble,
    "local_response_norm": LocalResponseNormInDouble,
}
IN_PROGRAM = {"batch_norm": BatchNormInProgram, "dense": partial(dense, kind=LinearInProgram)}


def build(network, other):
    """The neutral network as one nn.Sequential, or as a Graph; every layer bears its name.

    ``other`` are the kinds that are not built as usual.
    """
    layers = network["layers"]
    known = dict(LAYERS, **other)
    built = [(layer["name"], known[layer["kind"]](layer)) for layer in layers]
    if is_chain(layers) and not any(layer["kind"] in ("lstm", "gru") for layer in layers):
        return nn.Sequential(*built)
    return Graph(layers, built)


def loss_of(network):
    """The mean loss, as a function (logits, labels)."""
    index = -100 if network.get("ignored") is None else network["ignored"]

    def cross_entropy(logits, labels):
        return F.cross_entropy(logits, labels, ignore_index=index)

    def sigmoid_cross_entropy(logits, labels):
        return F.binary_cross_entropy_with_logits(logits, labels.reshape(logits.shape))

    return sigmoid_cross_entropy if network["loss"] == "sigmoid_cross_entropy" else cross_entropy


# Where Paddle keeps an array, by kind and canonical role.
ARRAYS = {"weight": "weight", "bias": "bias"}
RECURRENT = {"weight": "rnn.weight_ih_l0", "recurrent": "rnn.weight_hh_l0", "bias": "rnn.bias_ih_l0"}
ARRAYS_OF = {
    "batch_norm": {"scale": "weight", "shift": "bias"},
    "lstm": RECURRENT,
    "gru": dict(RECURRENT, recurrent_bias="rnn.bias_hh_l0"),
}


class Trainer:
    """The network, its optimiser and the examples, on one device."""

    def __init__(self, network, recipe, weights, device, seed):
        if device != "cpu" and not (paddle.is_compiled_with_cuda() and paddle.device.cuda.device_count()):
            raise RequestError("unsupported", "Paddle finds no GPU")
        paddle.set_device(device)
        # Of mixed ones auto_cast has the 16 bits.
        self.precision = "float64" if recipe["precision"] == "float64" else "float32"
        paddle.set_default_dtype(self.precision)
        paddle.seed(seed)
        self.network = network
        other = IN_PROGRAM if is_compiled(recipe["precision"], device) else {}
        self.model = build(network, IN_DOUBLE if self.precision == "float64" else other)
        self.forward, self.scaler = mixed_precision(self.model, recipe["precision"], device)
        if weights is not None:
            self._set(weights)
        self.loss = loss_of(network)
        self.optimizer = optimizer([parameter for _, parameter, _ in self._natives()], recipe)

    def _natives(self):
        """Canonical name, native parameter and whether the native layout is transposed."""
        for layer in self.network["layers"]:
            kind, native = layer["kind"], getattr(self.model, layer["name"])
            for role, path in ARRAYS_OF.get(kind, ARRAYS).items():
                parameter = reduce(lambda owner, name: getattr(owner, name, None), path.split("."), native)
                if parameter is not None:
                    # nn.LSTM and nn.GRU keep (gates, inputs); all other layouts of Paddle are the canonical ones.
                    yield "%s.%s" % (layer["name"], role), parameter, kind in ("lstm", "gru")

    def _set(self, weights):
        for name, parameter, transposed in self._natives():
            array = np.array(weights[name].T if transposed else weights[name], dtype=self.precision, order="C")
            if array.shape != tuple(parameter.shape):
                raise ValueError("%s: Paddle has %s, the weights %s" % (name, tuple(parameter.shape), array.shape))
            parameter.set_value(array)

    def parameters(self):
        return {name: tuple(p.shape[::-1] if t else p.shape) for name, p, t in self._natives()}

    def describe(self):
        return str(self.model)

    def load(self, inputs, labels, order, rates=None):
        self.feed(inputs, labels)
        self.order = paddle.to_tensor(np.array(order, dtype=np.int64))
        self.rates = rates
        self.forward.train()

    def feed(self, inputs, labels):
        has_flags = self.network["loss"] == "sigmoid_cross_entropy"
        self.inputs = self._inputs(inputs)
        self.labels = paddle.to_tensor(np.array(labels, dtype=self.precision if has_flags else np.int64))

    def _inputs(self, inputs):
        return paddle.to_tensor(np.array(inputs, dtype=np.int64 if "vocabulary" in self.network else self.precision))

    def step(self, number):
        # Not inputs[index]: Paddle takes forty times as long for that.
        index = self.order[number]
        inputs, labels = paddle.gather(self.inputs, index), paddle.gather(self.labels, index)
        loss = self.loss(self.forward(inputs), labels)
        (self.scaler.scale(loss) if self.scaler else loss).backward()
        if self.rates is not None:
            self.optimizer.set_lr(float(self.rates[number]))
        if self.scaler:
            # It leaves a step out whose gradients are too large for the type, and unscales before they are clipped.
            self.scaler.step(self.optimizer)
            self.scaler.update()
        else:
            self.optimizer.step()
        self.optimizer.clear_grad()
        return loss.detach()

    def outputs(self, inputs, batch_size):
        self.forward.eval()
        inputs = self._inputs(inputs)
        for first in range(0, len(inputs), batch_size):
            with paddle.no_grad():
                yield self.forward(inputs[first : first + batch_size]).numpy()
        self.forward.train()
