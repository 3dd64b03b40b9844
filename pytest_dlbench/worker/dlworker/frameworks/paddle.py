"""PaddlePaddle: an nn.Sequential, or a layer of one's own where branches meet, trained in dynamic mode.

Images are channels first, as all of Paddle's layers want them.
"""

import ctypes
import os
from functools import reduce

import numpy as np
import paddle
import paddle.nn.functional as F  # noqa: N812 - the name it has in Paddle's own documentation
from paddle import nn

from dlworker.frameworks.paddle_layers import (
    Add,
    AvgPoolInDouble,
    BatchNorm,
    BatchNormInDouble,
    Concat,
    Cut,
    Graph,
    LocalResponseNormInDouble,
    PadChannels,
    Recurrent,
    sides,
)
from dlworker.graph import is_chain
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


def dense(layer):
    # Of a sequence nn.Linear takes the features of each step.
    return nn.Linear(layer["input"][-1], layer["output"][-1], bias_attr=None if layer["bias"] else False)


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


def build(network, precision):
    """The neutral network as one nn.Sequential, or as a Graph; every layer bears its name."""
    layers = network["layers"]
    known = LAYERS if precision == "float32" else dict(LAYERS, **IN_DOUBLE)
    built = [(layer["name"], known[layer["kind"]](layer)) for layer in layers]
    if is_chain(layers) and not any(layer["kind"] in ("lstm", "gru") for layer in layers):
        return nn.Sequential(*built)
    return Graph(layers, built)


class Update:
    """An update written out: of what Paddle's own optimiser rounds to float32, or has with another meaning."""

    slots = 1

    def __init__(self, parameters, settings, clip):
        self.settings, self.clip, self.rate = settings, clip, settings["learning_rate"]
        self.slotted = [(one, [paddle.zeros_like(one) for _ in range(self.slots)]) for one in parameters]

    def set_lr(self, rate):
        self.rate = rate

    @paddle.no_grad()
    def step(self):
        pairs = [(parameter, parameter.grad) for parameter, _ in self.slotted]
        pairs = self.clip(pairs) if self.clip else pairs
        for (parameter, gradient), (_, slots) in zip(pairs, self.slotted):
            parameter.subtract_(self.moved(parameter, gradient, *slots) * self.rate)

    def clear_grad(self):
        for parameter, _ in self.slotted:
            parameter.clear_gradient()


def _move(average, value, share):
    return average.scale_(share).add_(value * (1 - share))


class MomentumInDouble(Update):
    """paddle.optimizer.Momentum with a momentum and a decay that are not rounded to float32."""

    def moved(self, parameter, gradient, velocity):
        momentum = self.settings["momentum"]
        gradient = gradient + parameter * self.settings["weight_decay"]
        velocity.scale_(momentum).add_(gradient)
        return gradient + velocity * momentum if self.settings["nesterov"] else velocity


class AdadeltaInDouble(Update):
    """paddle.optimizer.Adadelta with a rho and an epsilon that are not rounded to float32."""

    slots = 2

    def moved(self, parameter, gradient, squares, moves):
        rho, epsilon = self.settings["rho"], self.settings["epsilon"]
        _move(squares, gradient * gradient, rho)
        move = paddle.sqrt((moves + epsilon) / (squares + epsilon)) * gradient
        _move(moves, move * move, rho)
        return move


class RMSprop(Update):
    """RMSprop with epsilon beside the root: paddle.optimizer.RMSProp has it inside."""

    def moved(self, parameter, gradient, squares):
        _move(squares, gradient * gradient, self.settings["rho"])
        return gradient / (paddle.sqrt(squares) + self.settings["epsilon"])


def _optimizer(parameters, recipe):
    settings, in_double = recipe["optimizer"], recipe["precision"] == "float64"
    kind, rate = settings["kind"], settings["learning_rate"]
    clip = nn.ClipGradByGlobalNorm(recipe["clip_norm"]) if recipe.get("clip_norm") else None
    if kind == "rmsprop" or (in_double and kind in ("sgd", "adadelta")):
        own = {"rmsprop": RMSprop, "sgd": MomentumInDouble, "adadelta": AdadeltaInDouble}
        return own[kind](parameters, settings, clip)
    usual = {"parameters": parameters, "grad_clip": clip}
    if kind == "adam":
        betas = {"beta1": settings["beta1"], "beta2": settings["beta2"]}
        return paddle.optimizer.Adam(rate, epsilon=settings["epsilon"], **betas, **usual)
    if kind == "adadelta":
        return paddle.optimizer.Adadelta(rate, epsilon=settings["epsilon"], rho=settings["rho"], **usual)
    usual["weight_decay"] = settings["weight_decay"] or None
    if not settings["momentum"]:
        return paddle.optimizer.SGD(rate, **usual)
    return paddle.optimizer.Momentum(rate, settings["momentum"], use_nesterov=settings["nesterov"], **usual)


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
        self.precision = recipe["precision"]
        paddle.set_default_dtype(self.precision)
        paddle.seed(seed)
        self.network = network
        self.model = build(network, self.precision)
        if weights is not None:
            self._set(weights)
        self.loss = loss_of(network)
        self.optimizer = _optimizer([parameter for _, parameter, _ in self._natives()], recipe)

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
        self.model.train()

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
        loss = self.loss(self.model(inputs), labels)
        loss.backward()
        if self.rates is not None:
            self.optimizer.set_lr(float(self.rates[number]))
        self.optimizer.step()
        self.optimizer.clear_grad()
        return loss.detach()

    def outputs(self, inputs, batch_size):
        self.model.eval()
        inputs = self._inputs(inputs)
        for first in range(0, len(inputs), batch_size):
            with paddle.no_grad():
                yield self.model(inputs[first : first + batch_size]).numpy()
        self.model.train()
