"""MLX: an nn.Sequential, or a custom module if there are branches, and one compiled step.

Images are channels last, as MLX's own layers expect them.
"""

import shutil
import subprocess
from functools import partial

import mlx.core as mx
import numpy as np
from mlx import nn

from dlworker.frameworks.mlx.layers import KINDS, Recurrent, build
from dlworker.frameworks.mlx.losses import LOSSES
from dlworker.frameworks.mlx.optimizers import OPTIMIZERS, clip
from dlworker.frameworks.mlx.precision import MIXED, in_16_bits, scaled_gradients, scaled_step
from dlworker.frameworks.mlx.weights import ARRAYS, ARRAYS_OF, is_transposed, to_native
from dlworker.loss_scale import LossScale
from dlworker.protocol import RequestError

# The only layout of its layers; for the others MLX has no switches.
EXECUTION = ("channels_last",)
SUPPORTS = {*KINDS, *LOSSES, *OPTIMIZERS, *MIXED, *EXECUTION, "schedule", "clip_norm", "lengths", "start", "pipeline"}


def set_execution(execution, device):
    """Does nothing: images are channels last anyway."""


def configure(threads):
    """Does nothing: MLX has no setting. On the CPU it computes in one thread, whatever the variables say."""


def threads():
    """None: MLX does not report it."""


def versions():
    """MLX, and the compiler that mx.compile calls on the CPU: without one MLX still works, but slower."""
    found = {"mlx": mx.__version__}
    if shutil.which("g++"):
        found["g++"] = subprocess.check_output(["g++", "-dumpfullversion"]).decode().strip()
    return found


def is_processor(device):
    """Whether a device is no GPU."""
    return device.type == mx.cpu


class Trainer:
    """The network, its optimiser, the examples and the compiled step."""

    def __init__(self, network, recipe, weights, device, seed):
        if recipe["precision"] == "float64":
            # MLX has float64 on the CPU, but its exp, sigmoid and convolutions are only as precise as float32.
            raise RequestError("unsupported", "MLX computes only in float32")
        mx.set_default_device(device_of(device))
        mx.random.seed(seed)
        self.network = network
        mixed = MIXED.get(recipe["precision"])
        self.model = build(network, mixed or mx.float32)
        if weights is not None:
            self._set(weights)
        self.forward = partial(in_16_bits, self.model, mixed) if mixed else self.model
        self.scale = LossScale() if recipe["precision"] == "float16" else None
        self.clip_norm = recipe.get("clip_norm")
        self.optimizer = OPTIMIZERS[recipe["optimizer"]["kind"]](recipe["optimizer"])
        self.optimizer.init(self.model.trainable_parameters())
        mx.eval(self.model.state, self.optimizer.state)

    def computes_on(self):
        device = mx.default_device()
        return "cpu" if is_processor(device) else "gpu", str(mx.device_info(device).get("device_name", device))

    def peak_device_bytes(self):
        # Of the memory that a GPU shares with the processor, too.
        return None if is_processor(mx.default_device()) else mx.get_peak_memory()

    def _natives(self):
        """The neutral layer, the role and the native layer of every parameter, and the parameter's name there."""
        for layer, module in zip(self.network["layers"], self.model.layers):
            native = module.rnn if isinstance(module, Recurrent) else module
            for role, name in ARRAYS_OF.get(layer["kind"], ARRAYS).items():
                if isinstance(native, nn.Module) and name in native:
                    yield layer, role, native, name

    def _set(self, weights):
        for layer, role, native, name in self._natives():
            array = to_native(layer, role, weights["%s.%s" % (layer["name"], role)], self._image(layer))
            if array.shape != native[name].shape:
                raise ValueError(
                    "%s.%s: MLX has shape %s, the weights have %s"
                    % (layer["name"], role, native[name].shape, array.shape)
                )
            native[name] = mx.array(array)

    def _image(self, wanted):
        """The shape of the image that a layer sees flattened channels last, or None."""
        image = None
        for layer in self.network["layers"] if isinstance(self.model, nn.Sequential) else ():
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
            shapes["%s.%s" % (layer["name"], role)] = shape[::-1] if is_transposed(layer, role) else shape
        return shapes

    def array(self, name):
        natives = self._natives()
        return next(np.array(n[own]) for layer, role, n, own in natives if "%s.%s" % (layer["name"], role) == name)

    def describe(self):
        return str(self.model)

    def load(self, inputs, labels, order, rates=None):
        self.feed(inputs, labels)
        self.order, self.rates = mx.array(np.array(order, dtype=np.int32)), rates
        self.model.train()
        # Everything that a step reads and changes, including the state of the random numbers.
        self.state = [self.model.state, self.optimizer.state, mx.random.state]
        compiled = partial(mx.compile, inputs=self.state, outputs=self.state)
        if self.scale:
            # In between, the loss scale decides whether to update.
            gradients = partial(scaled_gradients, self.model, self.loss_of)
            self._step = partial(scaled_step, compiled(gradients), compiled(self.change), self.scale)
        else:
            self._step = compiled(self._update)
        mx.eval(self.order, self.state)

    def feed(self, inputs, labels):
        has_flags = self.network["loss"] == "sigmoid_cross_entropy"
        self.inputs = self._inputs(inputs)
        self.labels = mx.array(np.array(labels, dtype=np.float32 if has_flags else np.int32))
        mx.eval(self.labels)

    def _inputs(self, inputs):
        dtype = np.int32 if "vocabulary" in self.network else np.float32
        inputs = np.moveaxis(inputs, 1, -1) if inputs.ndim == 4 else inputs
        inputs = mx.array(np.ascontiguousarray(inputs, dtype=dtype))
        mx.eval(inputs)
        return inputs

    def _update(self, inputs, labels):
        loss, gradients = nn.value_and_grad(self.model, self.loss_of)(inputs, labels)
        self.change(gradients)
        return loss

    def change(self, gradients):
        """Update the parameters by these gradients."""
        if self.clip_norm:
            gradients = clip(gradients, self.clip_norm)
        self.optimizer.update(self.model, gradients)

    def loss_of(self, inputs, labels):
        """The loss of a batch."""
        found, counts = LOSSES[self.network["loss"]](self.network, self.forward(inputs), labels)
        return found.mean() if counts.ndim == 0 else (found * counts).sum() / counts.sum()

    def step(self, number):
        index = self.order[number]
        if self.rates is not None:
            self.optimizer.learning_rate = float(self.rates[number])
        loss = self._step(self.inputs[index], self.labels[index])
        # MLX is lazy: what is not evaluated here would be computed in a later step.
        mx.eval(loss, self.state)
        return loss

    def outputs(self, inputs, batch_size):
        self.model.eval()
        inputs = self._inputs(inputs)
        for first in range(0, len(inputs), batch_size):
            yield np.array(self.forward(inputs[first : first + batch_size]))
        self.model.train()


def device_of(device):
    """MLX's own device for "cpu", "gpu" or "gpu:N"; raises RequestError if there is no such GPU."""
    kind, _, index = device.partition(":")
    if kind != "cpu" and not mx.is_available(mx.gpu):
        raise RequestError("unsupported", "MLX found no GPU")
    return mx.Device(mx.cpu if kind == "cpu" else mx.gpu, int(index or 0))
