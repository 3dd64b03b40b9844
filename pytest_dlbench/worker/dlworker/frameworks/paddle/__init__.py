"""PaddlePaddle: an nn.Sequential, or a custom layer if there are branches, trained in dynamic mode.

Images are channels first, as all of Paddle's layers expect them.
"""

import ctypes
import os
from functools import reduce

import numpy as np
import paddle

from dlworker.frameworks.paddle.execution import EXECUTION, set_execution
from dlworker.frameworks.paddle.layers import IN_DOUBLE, IN_PROGRAM, LAYERS, build
from dlworker.frameworks.paddle.losses import LOSSES
from dlworker.frameworks.paddle.optimizers import OPTIMIZERS, optimizer
from dlworker.frameworks.paddle.precision import MIXED, is_compiled, mixed_precision
from dlworker.protocol import RequestError
from dlworker.staging import InFlight

__all__ = ["SUPPORTS", "Trainer", "configure", "set_execution", "threads", "versions"]

SUPPORTS = {
    *LAYERS,
    *LOSSES,
    *OPTIMIZERS,
    *MIXED,
    *EXECUTION,
    "schedule",
    "clip_norm",
    "accumulation",
    "lengths",
    "start",
    "pipeline",
}


def configure(threads):
    """Paddle reads OMP_NUM_THREADS, which the driver set before this Python started."""


def threads():
    """Threads of the OpenMP runtime that Paddle ships for MKL and its kernels; Paddle can set but not report them."""
    folder = os.path.join(os.path.dirname(paddle.__file__), "libs")
    return ctypes.CDLL(os.path.join(folder, "libiomp5.so")).omp_get_max_threads()


def versions():
    """Paddle and, if available, CUDA and cuDNN (Paddle reports missing ones as "False")."""
    found = {"paddle": paddle.__version__, "cuda": paddle.version.cuda(), "cudnn": paddle.version.cudnn()}
    return {name: str(version) for name, version in found.items() if version != "False"}


# Where Paddle keeps an array, by kind and canonical role.
ARRAYS = {"weight": "weight", "bias": "bias"}
RECURRENT = {"weight": "rnn.weight_ih_l0", "recurrent": "rnn.weight_hh_l0", "bias": "rnn.bias_ih_l0"}
NORMALISED = {"scale": "weight", "shift": "bias"}
ARRAYS_OF = {
    "batch_norm": NORMALISED,
    "layer_norm": NORMALISED,
    "lstm": RECURRENT,
    "gru": dict(RECURRENT, recurrent_bias="rnn.bias_hh_l0"),
}


def require(device):
    """Raise RequestError if there is no such device."""
    if device != "cpu" and not (paddle.is_compiled_with_cuda() and paddle.device.cuda.device_count()):
        raise RequestError("unsupported", "Paddle found no GPU")


class Trainer:
    """The network, its optimiser and the examples, on one device."""

    def __init__(self, network, recipe, weights, device, seed):
        require(device)
        if network["loss"] == "detection" and recipe["precision"] in MIXED:
            raise RequestError("unsupported", "the Paddle builder has no detectors in %s" % recipe["precision"])
        paddle.set_device(device)
        self.is_on_gpu = device != "cpu"
        # In mixed precisions auto_cast handles the 16 bits.
        self.precision = "float64" if recipe["precision"] == "float64" else "float32"
        paddle.set_default_dtype(self.precision)
        paddle.seed(seed)
        self.network = network
        other = IN_PROGRAM if is_compiled(recipe["precision"], device) else {}
        self.model = build(network, IN_DOUBLE if self.precision == "float64" else other)
        self.forward, self.scaler = mixed_precision(self.model, recipe["precision"], device)
        if weights is not None:
            self._set(weights)
        self.loss, self.accumulation = LOSSES[network["loss"]](network), recipe.get("accumulation", 1)
        self.trained = [parameter for _, parameter, _ in self._natives()]
        self.optimizer = optimizer(self.trained, recipe)
        self.in_flight = InFlight()

    def computes_on(self):
        _, parameter, _ = next(self._natives())
        return ("gpu", paddle.device.cuda.get_device_name()) if parameter.place.is_gpu_place() else ("cpu", "")

    def peak_device_bytes(self):
        _, parameter, _ = next(self._natives())
        return paddle.device.cuda.max_memory_allocated() if parameter.place.is_gpu_place() else None

    def _natives(self):
        """Canonical name, native parameter and whether the native layout is transposed."""
        for layer in self.network["layers"]:
            kind, native = layer["kind"], getattr(self.model, layer["name"])
            for role, path in ARRAYS_OF.get(kind, ARRAYS).items():
                parameter = reduce(lambda owner, name: getattr(owner, name, None), path.split("."), native)
                if parameter is not None:
                    # nn.LSTM and nn.GRU keep (gates, inputs); all other Paddle layouts are canonical.
                    yield "%s.%s" % (layer["name"], role), parameter, kind in ("lstm", "gru")

    def _set(self, weights):
        for name, parameter, transposed in self._natives():
            array = np.array(weights[name].T if transposed else weights[name], dtype=self.precision, order="C")
            if array.shape != tuple(parameter.shape):
                raise ValueError(
                    "%s: Paddle has shape %s, the weights have %s" % (name, tuple(parameter.shape), array.shape)
                )
            parameter.set_value(array)

    def parameters(self):
        return {name: tuple(p.shape[::-1] if t else p.shape) for name, p, t in self._natives()}

    def array(self, name):
        return next(p for known, p, _ in self._natives() if known == name).numpy()

    def describe(self):
        return str(self.model)

    def load(self, inputs, labels, order, rates=None):
        self.feed(inputs, labels)
        self.order = paddle.to_tensor(np.array(order, dtype=np.int64))
        self.rates = rates
        self.forward.train()

    def stage(self, inputs, labels):
        """A batch in memory from which a GPU copies without the processor."""
        if not self.is_on_gpu:
            return inputs, labels
        place = paddle.CUDAPinnedPlace()
        return self._inputs(inputs, place), self._labels(labels, place)

    def feed(self, inputs, labels):
        if not paddle.is_tensor(inputs):
            self.inputs, self.labels = self._inputs(inputs), self._labels(labels)
            return
        self.inputs, self.labels = (array.cuda(blocking=False) for array in (inputs, labels))
        event = paddle.device.cuda.Event()
        event.record()
        self.in_flight.keep((inputs, labels), event.query)

    def _inputs(self, inputs, place=None):
        dtype = np.int64 if "vocabulary" in self.network else self.precision
        return paddle.to_tensor(np.array(inputs, dtype=dtype), place=place)

    def _labels(self, labels, place=None):
        is_real = self.network["loss"] in ("detection", "sigmoid_cross_entropy")
        return paddle.to_tensor(np.array(labels, dtype=self.precision if is_real else np.int64), place=place)

    def step(self, number):
        losses = [self.backward(self.loss_of(*self.batch(index))) for index in self.parts(number)]
        self.change(number)
        return sum(losses) if self.accumulation > 1 else losses[0]

    def parts(self, number):
        """The examples of a step, for each part of the batch."""
        index = self.order[number]
        return paddle.split(index, self.accumulation) if self.accumulation > 1 else [index]

    def batch(self, index):
        """The inputs and labels of these examples."""
        # Not inputs[index], which takes Paddle forty times as long.
        return paddle.gather(self.inputs, index), paddle.gather(self.labels, index)

    def loss_of(self, inputs, labels):
        """What these examples add to the loss of the batch."""
        # What a detector trains its second stage on depends on the labels.
        truth = (labels,) if self.network["loss"] == "detection" else ()
        loss = self.loss(self.forward(inputs, *truth), labels)
        return loss / self.accumulation if self.accumulation > 1 else loss

    def backward(self, loss):
        """Add the gradients of some examples; returns their loss, which needs no more gradients."""
        (self.scaler.scale(loss) if self.scaler else loss).backward()
        return loss.detach()

    def change(self, number):
        """Update the parameters by their gradients, and forget these."""
        if self.rates is not None:
            self.optimizer.set_lr(float(self.rates[number]))
        if self.scaler:
            # The scaler skips steps whose gradients overflow, and unscales gradients before they are clipped.
            self.scaler.step(self.optimizer)
            self.scaler.update()
        else:
            self.optimizer.step()
        self.optimizer.clear_grad()

    def outputs(self, inputs, batch_size):
        self.forward.eval()
        inputs = self._inputs(inputs)
        for first in range(0, len(inputs), batch_size):
            with paddle.no_grad():
                yield self.forward(inputs[first : first + batch_size]).numpy()
        self.forward.train()
