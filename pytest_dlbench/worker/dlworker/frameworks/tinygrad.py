"""tinygrad: a list of layers, one TinyJit step. Images are channels first, as tinygrad's own layers want them."""

import os
import shutil
import subprocess
from importlib import metadata  # novm: tinygrad itself wants Python 3.11

import numpy as np
from tinygrad import Context, Device, Tensor, TinyJit, nn
from tinygrad.helpers import DEFAULT_FLOAT, DEV, NUM_CPU_THREADS

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
    """The most threads that tinygrad may spread one kernel over."""
    NUM_CPU_THREADS.value = threads


def threads():
    """The most threads that one kernel may have; whether it has them is tinygrad's own decision."""
    return NUM_CPU_THREADS.value


def versions():
    """tinygrad, and the compiler of its CPU kernels where there is one."""
    found = {"tinygrad": metadata.version("tinygrad")}
    compiler = os.environ.get("CC", "clang")
    if shutil.which(compiler):
        found["clang"] = subprocess.check_output([compiler, "-dumpversion"]).decode().strip()
    return found


def conv2d(layer):
    channels, filters, padding = layer["input"][0], layer["output"][0], _sides(layer["padding"])
    return nn.Conv2d(channels, filters, tuple(layer["kernel"]), tuple(layer["stride"]), padding, bias=layer["bias"])


def max_pool(layer):
    window, stride, padding = tuple(layer["window"]), tuple(layer["stride"]), _sides(layer["padding"])
    return lambda x: x.max_pool2d(window, stride, padding=padding)


def avg_pool(layer):
    window, stride, padding = tuple(layer["window"]), tuple(layer["stride"]), _sides(layer["padding"])
    return lambda x: x.avg_pool2d(window, stride, padding=padding, count_include_pad=False)


def batch_norm(layer):
    # tinygrad's momentum is the share of the new value, the neutral decay that of the old one.
    return nn.BatchNorm(layer["input"][0], eps=layer["epsilon"], momentum=1 - layer["decay"])


def _sides(padding):
    """Left, right, top, bottom: tinygrad's operators pad unevenly themselves."""
    (top, bottom), (left, right) = padding
    return (left, right, top, bottom)


# Every layer is something that can be called with a tensor.
LAYERS = {
    "conv2d": conv2d,
    "max_pool": max_pool,
    "avg_pool": avg_pool,
    "batch_norm": batch_norm,
    "dense": lambda layer: nn.Linear(layer["input"][0], layer["output"][0], bias=layer["bias"]),
    "flatten": lambda layer: lambda x: x.flatten(1),
    "dropout": lambda layer: lambda x: x.dropout(layer["rate"]),
    "relu": lambda layer: Tensor.relu,
    "tanh": lambda layer: Tensor.tanh,
    "sigmoid": lambda layer: Tensor.sigmoid,
}


def build(network):
    """The neutral network as {name: layer}, in order."""
    model = {}
    for layer in network["layers"]:
        if layer["kind"] not in LAYERS:
            raise RequestError("unsupported", "the tinygrad builder has no layer %r" % layer["kind"])
        model[layer["name"]] = LAYERS[layer["kind"]](layer)
    return model


def _choose(device):
    """Make a device the one that tensors are put on; "gpu" is whatever accelerator tinygrad itself prefers."""
    if device == "cpu":
        DEV.value = "CPU"
        return
    DEV.value = ""
    found = Device.DEFAULT.split(":")[0]
    if found == "CPU":
        raise RequestError("unsupported", "tinygrad finds no device but the CPU")
    DEV.value = "%s%s" % (found, device[len("gpu") :])


ROLES = {"scale": "weight", "shift": "bias"}


class Trainer:
    """The layers, their optimiser, the examples and the captured step."""

    def __init__(self, network, recipe, weights, device, seed):
        _choose(device)
        self.precision = DEFAULT_FLOAT.value = recipe["precision"]
        Tensor.manual_seed(seed)
        self.network = network
        self.model = build(network)
        if weights is not None:
            self._set(weights)
        self.optimizer = _optimizer(nn.state.get_parameters(self.model), recipe["optimizer"], self.precision)
        Tensor.realize(*nn.state.get_parameters(self.model), *nn.state.get_parameters(self.optimizer))

    def _natives(self):
        """Canonical name, native parameter and whether the native layout is transposed."""
        for layer in self.network["layers"]:
            for role in ("weight", "bias") if layer["kind"] != "batch_norm" else ("scale", "shift"):
                parameter = getattr(self.model[layer["name"]], ROLES.get(role, role), None)
                if parameter is not None:
                    # nn.Linear keeps (outputs, inputs); convolutions are canonical as they are.
                    yield "%s.%s" % (layer["name"], role), parameter, layer["kind"] == "dense" and role == "weight"

    def _set(self, weights):
        for name, parameter, transposed in self._natives():
            array = weights[name].T if transposed else weights[name]
            parameter.replace(Tensor(np.array(array, dtype=self.precision, order="C")))

    def parameters(self):
        return {name: tuple(p.shape[::-1] if t else p.shape) for name, p, t in self._natives()}

    def describe(self):
        lines = ["%-10s %s" % (layer["name"], layer["kind"]) for layer in self.network["layers"]]
        shapes = ["%s %s" % (name, tensor.shape) for name, tensor in nn.state.get_state_dict(self.model).items()]
        return "\n".join(lines + shapes)

    def load(self, inputs, labels, order, rates=None):
        self.images, self.labels = self._examples(inputs, labels)
        self.order = [Tensor(row).realize() for row in np.array(order, dtype=np.int32)]
        # Like every state of a step, that of the random numbers must exist before the step is captured.
        Tensor.rand(1).realize()
        self._step = TinyJit(self._update)
        # TinyJit calls a function once before it captures it, for lazy state. Here is none: capture the first call.
        self._step.cnt = 1

    def _examples(self, images, labels):
        images = Tensor(np.array(images, dtype=self.precision))
        return images.realize(), Tensor(np.array(labels, dtype=np.int32)).realize()

    @Context(TRAINING=1)
    def _update(self, index):
        self.optimizer.zero_grad()
        loss = self._logits(self.images[index]).sparse_categorical_crossentropy(self.labels[index]).backward()
        return loss.realize(*self.optimizer.schedule_step())

    def _logits(self, images):
        return images.sequential(list(self.model.values()))

    def step(self, number):
        return self._step(self.order[number]).item()

    def evaluate(self, inputs, labels, batch_size):
        images, labels = self._examples(inputs, labels)
        correct, total = 0, 0.0
        for first in range(0, len(labels), batch_size):
            x, y = images[first : first + batch_size], labels[first : first + batch_size]
            logits = self._logits(x)
            right, loss = (logits.argmax(1) == y).sum(), logits.sparse_categorical_crossentropy(y, reduction="sum")
            Tensor.realize(right, loss)
            correct, total = correct + right.item(), total + loss.item()
        return correct, total / len(labels)


def _optimizer(parameters, settings, precision):
    if settings["kind"] != "sgd":
        raise RequestError("unsupported", "the tinygrad builder has no optimiser %r" % settings["kind"])
    optimizer = nn.optim.SGD(
        parameters,
        lr=settings["learning_rate"],
        momentum=settings["momentum"],
        nesterov=settings["nesterov"],
        weight_decay=settings["weight_decay"],
    )
    # tinygrad keeps the velocities in float32 unless an environment variable says otherwise for the whole process.
    optimizer.b = [velocity.cast(precision) for velocity in optimizer.b]
    return optimizer
