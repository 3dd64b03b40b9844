"""MLX: an nn.Sequential and one compiled step. Images are channels last, as MLX's own layers want them."""

import shutil
import subprocess
from functools import partial

import mlx.core as mx
import numpy as np
from mlx import nn, optimizers

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
    """MLX has no setting for this: on the CPU it computes in one thread, whatever the variables say."""


def threads():
    """None: MLX cannot tell either."""


def versions():
    """MLX, and the compiler that mx.compile calls on the CPU: without one MLX goes on, slower."""
    found = {"mlx": mx.__version__}
    if shutil.which("g++"):
        found["g++"] = subprocess.check_output(["g++", "-dumpfullversion"]).decode().strip()
    return found


class Conv2dUneven(nn.Conv2d):
    """A convolution whose padding differs between the sides, which MLX's operator can do but its layer cannot."""

    def __call__(self, x):
        (top, bottom), (left, right) = self.padding
        y = mx.conv_general(x, self.weight, self.stride, ([top, left], [bottom, right]))
        return y + self.bias if "bias" in self else y


class Padded(nn.Module):
    """A pooling layer behind padding that may differ between the sides."""

    def __init__(self, pool, padding, value):
        super().__init__()
        self.pool, self.padding, self.value = pool, padding, value

    def __call__(self, x):
        return self.pool(mx.pad(x, [(0, 0), *self.padding, (0, 0)], constant_values=self.value))


class AvgPoolInside(Padded):
    """Average pooling that does not count the padding, as MLX's own does."""

    def __init__(self, pool, padding):
        super().__init__(pool, padding, 0)

    def __call__(self, x):
        return super().__call__(x) / super().__call__(mx.ones_like(x[:1, :, :, :1]))


def conv2d(layer):
    (top, bottom), (left, right) = layer["padding"]
    even = top == bottom and left == right
    padding = (top, left) if even else layer["padding"]
    sizes = (layer["input"][0], layer["output"][0], tuple(layer["kernel"]))
    kind = nn.Conv2d if even else Conv2dUneven
    return kind(*sizes, stride=tuple(layer["stride"]), padding=padding, bias=layer["bias"])


def max_pool(layer):
    pool = nn.MaxPool2d(tuple(layer["window"]), tuple(layer["stride"]))
    return Padded(pool, layer["padding"], -float("inf")) if _is_padded(layer) else pool


def avg_pool(layer):
    pool = nn.AvgPool2d(tuple(layer["window"]), tuple(layer["stride"]))
    return AvgPoolInside(pool, layer["padding"]) if _is_padded(layer) else pool


def _is_padded(layer):
    return any(side for sides in layer["padding"] for side in sides)


def batch_norm(layer):
    # MLX's momentum is the share of the new value, the neutral decay that of the old one.
    return nn.BatchNorm(layer["input"][0], eps=layer["epsilon"], momentum=1 - layer["decay"])


LAYERS = {
    "conv2d": conv2d,
    "max_pool": max_pool,
    "avg_pool": avg_pool,
    "batch_norm": batch_norm,
    "dense": lambda layer: nn.Linear(layer["input"][0], layer["output"][0], bias=layer["bias"]),
    "flatten": lambda layer: partial(mx.flatten, start_axis=1),
    "dropout": lambda layer: nn.Dropout(layer["rate"]),
    "relu": lambda layer: nn.ReLU(),
    "tanh": lambda layer: nn.Tanh(),
    "sigmoid": lambda layer: nn.Sigmoid(),
}


def build(network):
    """The neutral network as one nn.Sequential."""
    for layer in network["layers"]:
        if layer["kind"] not in LAYERS:
            raise RequestError("unsupported", "the MLX builder has no layer %r" % layer["kind"])
    return nn.Sequential(*(LAYERS[layer["kind"]](layer) for layer in network["layers"]))


ROLES = {"scale": "weight", "shift": "bias"}


class Trainer:
    """The network, its optimiser, the examples and the compiled step."""

    def __init__(self, network, recipe, weights, device, seed):
        if recipe["precision"] != "float32":
            # MLX has the type on the CPU, but exp, sigmoid and convolutions of it are no better than float32's.
            raise RequestError("unsupported", "MLX computes no more than float32")
        mx.set_default_device(_device(device))
        mx.random.seed(seed)
        self.network = network
        self.model = build(network)
        if weights is not None:
            self._set(weights)
        self.optimizer = _optimizer(recipe["optimizer"])
        self.optimizer.init(self.model.trainable_parameters())
        mx.eval(self.model.state, self.optimizer.state)

    def _natives(self):
        """The neutral layer, the role and the native layer of every parameter, and the parameter's name there."""
        for layer, native in zip(self.network["layers"], self.model.layers):
            for role in ("weight", "bias") if layer["kind"] != "batch_norm" else ("scale", "shift"):
                if isinstance(native, nn.Module) and ROLES.get(role, role) in native:
                    yield layer, role, native, ROLES.get(role, role)

    def _set(self, weights):
        for layer, role, native, name in self._natives():
            array = _to_native(layer, role, weights["%s.%s" % (layer["name"], role)], self._image(layer))
            if array.shape != native[name].shape:
                raise ValueError(
                    "%s.%s: MLX has %s, the weights %s" % (layer["name"], role, native[name].shape, array.shape)
                )
            native[name] = mx.array(array)

    def _image(self, wanted):
        """The shape of the image whose flattened values a layer sees, if it does."""
        image = None
        for layer in self.network["layers"]:
            if layer["kind"] == "flatten" and len(layer["input"]) == 3:
                image = layer["input"]
            if layer is wanted:
                return image
            if layer["kind"] == "dense":
                image = None
        return None

    def parameters(self):
        shapes = {}
        for layer, role, native, name in self._natives():
            shape = native[name].shape
            if len(shape) == 4:
                shape = (shape[0], shape[3], shape[1], shape[2])
            shapes["%s.%s" % (layer["name"], role)] = shape[::-1] if len(shape) == 2 else shape
        return shapes

    def describe(self):
        return str(self.model)

    def load(self, inputs, labels, order, rates=None):
        self.images, self.labels = self._examples(inputs, labels)
        self.order = mx.array(np.array(order, dtype=np.int32))
        self.model.train()
        # Everything that a step reads and changes, the random numbers' state among it.
        self.state = [self.model.state, self.optimizer.state, mx.random.state]
        self._step = mx.compile(self._update, inputs=self.state, outputs=self.state)
        mx.eval(self.order, self.state)

    def _examples(self, images, labels):
        last = mx.array(np.ascontiguousarray(np.moveaxis(images, 1, -1), dtype=np.float32))
        labels = mx.array(np.array(labels, dtype=np.int32))
        mx.eval(last, labels)
        return last, labels

    def _update(self, images, labels):
        loss, gradients = nn.value_and_grad(self.model, self._loss)(images, labels)
        self.optimizer.update(self.model, gradients)
        return loss

    def _loss(self, images, labels):
        return nn.losses.cross_entropy(self.model(images), labels, reduction="mean")

    def step(self, number):
        index = self.order[number]
        loss = self._step(self.images[index], self.labels[index])
        # MLX is lazy: what is not asked for here would be computed with a later step.
        mx.eval(loss, self.state)
        return loss

    def evaluate(self, inputs, labels, batch_size):
        self.model.eval()
        images, labels = self._examples(inputs, labels)
        correct, total = 0, 0.0
        for first in range(0, len(labels), batch_size):
            x, y = images[first : first + batch_size], labels[first : first + batch_size]
            logits = self.model(x)
            right, loss = (logits.argmax(1) == y).sum(), nn.losses.cross_entropy(logits, y, reduction="sum")
            mx.eval(right, loss)
            correct, total = correct + right.item(), total + loss.item()
        self.model.train()
        return correct, total / len(labels)


def _device(device):
    kind, _, index = device.partition(":")
    return mx.Device(mx.cpu if kind == "cpu" else mx.gpu, int(index or 0))


def _to_native(layer, role, array, image):
    """A canonical array in MLX's layout."""
    if image and (layer["kind"], role) in (("dense", "weight"), ("batch_norm", "scale"), ("batch_norm", "shift")):
        # Flattened images are row, column, channel here; the canonical order has the channel first.
        array = array.reshape(*image, -1).transpose(1, 2, 0, 3).reshape(array.shape)
    if role == "weight":
        return array.transpose(0, 2, 3, 1) if layer["kind"] == "conv2d" else array.T
    return array


def _optimizer(settings):
    if settings["kind"] != "sgd":
        raise RequestError("unsupported", "the MLX builder has no optimiser %r" % settings["kind"])
    return optimizers.SGD(
        learning_rate=settings["learning_rate"],
        momentum=settings["momentum"],
        nesterov=settings["nesterov"],
        weight_decay=settings["weight_decay"],
    )
