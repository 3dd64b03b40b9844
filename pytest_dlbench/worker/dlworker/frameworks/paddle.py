"""PaddlePaddle: an nn.Sequential trained in dynamic mode. Images are channels first, as all of Paddle's layers want."""

import ctypes
import os

import numpy as np
import paddle
import paddle.nn.functional as F  # noqa: N812 - the name it has in Paddle's own documentation
from paddle import nn

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


class BatchNorm(nn.Layer):
    """Batch normalisation that keeps its running statistics itself.

    Paddle's own layer keeps the biased variance on the CPU, and on a GPU what cuDNN gives it, the unbiased one.
    """

    def __init__(self, layer):
        super().__init__()
        self.decay, self.epsilon = layer["decay"], layer["epsilon"]
        size = layer["input"][:1]
        self.weight = self.create_parameter(size, default_initializer=nn.initializer.Constant(1.0))
        self.bias = self.create_parameter(size, is_bias=True)
        for name in ("mean", "batch_mean", "batch_variance"):
            self.register_buffer(name, paddle.zeros(size))
        self.register_buffer("variance", paddle.ones(size))
        self.keeps_biased = _keeps_biased_variance(len(layer["input"]))

    def forward(self, x):
        if not self.training:
            return F.batch_norm(x, self.mean, self.variance, self.weight, self.bias, epsilon=self.epsilon)
        y = _normalise(x, self.batch_mean, self.batch_variance, self.weight, self.bias, self.epsilon)
        self._move(self.batch_mean, self.batch_variance, _unbias(x) if self.keeps_biased else 1.0)
        return y

    @paddle.no_grad()
    def _move(self, mean, variance, unbias):
        self.mean.scale_(self.decay).add_(mean * (1 - self.decay))
        self.variance.scale_(self.decay).add_(variance * ((1 - self.decay) * unbias))

    def extra_repr(self):
        return "%d, decay=%r, epsilon=%r" % (self.mean.shape[0], self.decay, self.epsilon)


def _unbias(x):
    count = x.size // x.shape[1]
    return count / (count - 1)


def _normalise(x, mean, variance, weight, bias, epsilon):
    """Paddle's normalisation in training; with momentum 0 it leaves the batch's own statistics in mean and variance."""
    return F.batch_norm(x, mean, variance, weight, bias, training=True, momentum=0.0, epsilon=epsilon)


def _keeps_biased_variance(dimensions):
    """What the kernel of this device makes of the variance of 1 and -1: 1 or, unbiased, 2."""
    one, zero = paddle.ones([1]), paddle.zeros([1])
    variance = paddle.ones([1])
    examples = paddle.to_tensor([1.0, -1.0]).reshape([2] + [1] * dimensions)
    _normalise(examples, paddle.zeros([1]), variance, one, zero, 1e-5)
    return variance.item() < 1.5


def conv2d(layer):
    bias = None if layer["bias"] else False
    channels, filters = layer["input"][0], layer["output"][0]
    return nn.Conv2D(channels, filters, layer["kernel"], layer["stride"], _sides(layer["padding"]), bias_attr=bias)


def dense(layer):
    return nn.Linear(layer["input"][0], layer["output"][0], bias_attr=None if layer["bias"] else False)


def _sides(padding):
    """Top, bottom, left, right: Paddle's operators pad unevenly themselves."""
    (top, bottom), (left, right) = padding
    return [top, bottom, left, right]


LAYERS = {
    "conv2d": conv2d,
    "dense": dense,
    "max_pool": lambda layer: nn.MaxPool2D(layer["window"], layer["stride"], _sides(layer["padding"])),
    "avg_pool": lambda layer: nn.AvgPool2D(layer["window"], layer["stride"], _sides(layer["padding"]), exclusive=True),
    "batch_norm": BatchNorm,
    "dropout": lambda layer: nn.Dropout(layer["rate"]),
    "flatten": lambda layer: nn.Flatten(),
    "relu": lambda layer: nn.ReLU(),
    "tanh": lambda layer: nn.Tanh(),
    "sigmoid": lambda layer: nn.Sigmoid(),
}


# Whatever the data are, some of Paddle's kernels take their numbers as float32. What follows is for float64 alone.


class BatchNormInDouble(BatchNorm):
    """Batch normalisation whose epsilon is not rounded to float32."""

    def forward(self, x):
        mean, variance = self.mean, self.variance
        if self.training:
            axes = [axis for axis in range(x.ndim) if axis != 1]
            mean, variance = x.mean(axes), x.var(axes, unbiased=False)
            self._move(mean, variance, _unbias(x))
        column = [-1] + [1] * (x.ndim - 2)
        scale = self.weight * paddle.rsqrt(variance + self.epsilon)
        return (x - mean.reshape(column)) * scale.reshape(column) + self.bias.reshape(column)


class AvgPoolInDouble(nn.Layer):
    """Average pooling as a convolution with ones, in whose gradient one over the window is not rounded to float32."""

    def __init__(self, layer):
        super().__init__()
        self.stride, self.sides = layer["stride"], _sides(layer["padding"])
        self.register_buffer("ones", paddle.ones([layer["input"][0], 1] + layer["window"]))

    def forward(self, x):
        total = F.conv2d(x, self.ones, None, self.stride, self.sides, groups=x.shape[1])
        return total / F.conv2d(paddle.ones_like(x[:1, :1]), self.ones[:1], None, self.stride, self.sides)


class MomentumInDouble:
    """The update of paddle.optimizer.Momentum with a momentum and a decay that are not rounded to float32."""

    def __init__(self, parameters, settings):
        self.settings = settings
        self.slots = [(parameter, paddle.zeros_like(parameter)) for parameter in parameters]

    @paddle.no_grad()
    def step(self):
        momentum, rate = self.settings["momentum"], self.settings["learning_rate"]
        for parameter, velocity in self.slots:
            gradient = parameter.grad + parameter * self.settings["weight_decay"]
            velocity.scale_(momentum).add_(gradient)
            moved = gradient + velocity * momentum if self.settings["nesterov"] else velocity
            parameter.subtract_(moved * rate)

    def clear_grad(self):
        for parameter, _ in self.slots:
            parameter.clear_gradient()


IN_DOUBLE = {"batch_norm": BatchNormInDouble, "avg_pool": AvgPoolInDouble}


def build(network, precision):
    """The neutral network as one nn.Sequential; every layer bears its name."""
    known = LAYERS if precision == "float32" else dict(LAYERS, **IN_DOUBLE)
    layers = []
    for layer in network["layers"]:
        if layer["kind"] not in known:
            raise RequestError("unsupported", "the Paddle builder has no layer %r" % layer["kind"])
        layers.append((layer["name"], known[layer["kind"]](layer)))
    return nn.Sequential(*layers)


def _optimizer(model, settings, precision):
    if settings["kind"] != "sgd":
        raise RequestError("unsupported", "the Paddle builder has no optimiser %r" % settings["kind"])
    rate, decay = settings["learning_rate"], settings["weight_decay"] or None
    if precision == "float64":
        return MomentumInDouble(model.parameters(), settings)
    if not settings["momentum"]:
        return paddle.optimizer.SGD(rate, model.parameters(), weight_decay=decay)
    return paddle.optimizer.Momentum(
        rate, settings["momentum"], model.parameters(), use_nesterov=settings["nesterov"], weight_decay=decay
    )


ROLES = {"scale": "weight", "shift": "bias"}


class Trainer:
    """The network, its optimiser and the examples, on one device."""

    def __init__(self, network, recipe, weights, device, seed):
        paddle.set_device(device)
        self.precision = recipe["precision"]
        paddle.set_default_dtype(self.precision)
        paddle.seed(seed)
        self.network = network
        self.model = build(network, self.precision)
        if weights is not None:
            self._set(weights)
        self.optimizer = _optimizer(self.model, recipe["optimizer"], self.precision)

    def _natives(self):
        """Canonical name and native parameter: all of Paddle's layouts are the canonical ones."""
        for layer in self.network["layers"]:
            for role in ("weight", "bias") if layer["kind"] != "batch_norm" else ("scale", "shift"):
                parameter = getattr(self.model[layer["name"]], ROLES.get(role, role), None)
                if parameter is not None:
                    yield "%s.%s" % (layer["name"], role), parameter

    def _set(self, weights):
        for name, parameter in self._natives():
            array = np.array(weights[name], dtype=self.precision)
            if array.shape != tuple(parameter.shape):
                raise ValueError("%s: Paddle has %s, the weights %s" % (name, tuple(parameter.shape), array.shape))
            parameter.set_value(array)

    def parameters(self):
        return {name: tuple(parameter.shape) for name, parameter in self._natives()}

    def describe(self):
        return str(self.model)

    def load(self, inputs, labels, order, rates=None):
        self.images, self.labels = self._examples(inputs, labels)
        self.order = paddle.to_tensor(np.array(order, dtype=np.int64))
        self.model.train()

    def _examples(self, images, labels):
        images = np.array(images, dtype=self.precision)
        return paddle.to_tensor(images), paddle.to_tensor(np.array(labels, dtype=np.int64))

    def step(self, number):
        # Not images[index]: Paddle takes forty times as long for that.
        index = self.order[number]
        images, labels = paddle.gather(self.images, index), paddle.gather(self.labels, index)
        loss = F.cross_entropy(self.model(images), labels)
        loss.backward()
        self.optimizer.step()
        self.optimizer.clear_grad()
        return loss.detach()

    @paddle.no_grad()
    def evaluate(self, inputs, labels, batch_size):
        self.model.eval()
        images, labels = self._examples(inputs, labels)
        correct, total = 0, 0.0
        for first in range(0, len(labels), batch_size):
            x, y = images[first : first + batch_size], labels[first : first + batch_size]
            logits = self.model(x)
            correct += int((logits.argmax(1) == y).sum())
            total += float(F.cross_entropy(logits, y, reduction="sum"))
        self.model.train()
        return correct, total / len(labels)
