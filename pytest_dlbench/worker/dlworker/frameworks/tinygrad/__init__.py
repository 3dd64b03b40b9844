"""tinygrad: a list of layers, or a graph of them, and one TinyJit step.

Images are channels first, as tinygrad's own layers expect them.
"""

import dlworker.frameworks.tinygrad.nvrtc  # noqa: F401  # isort: skip - tinygrad looks for it when it is imported

import ctypes
import os
import shutil
import subprocess
from functools import partial, reduce
from importlib import metadata  # novm: tinygrad itself requires Python 3.11

import numpy as np
from tinygrad import Context, Device, Tensor, TinyJit, dtypes, nn
from tinygrad.dtype import to_dtype
from tinygrad.helpers import DEFAULT_FLOAT, DEV, NUM_CPU_THREADS, GlobalCounters
from tinygrad.runtime.autogen import opencl

from dlworker.frameworks.tinygrad.execution import EXECUTION, set_execution
from dlworker.frameworks.tinygrad.layers import KINDS, built, logits_of
from dlworker.frameworks.tinygrad.losses import LOSSES
from dlworker.frameworks.tinygrad.optimizers import OPTIMIZERS, clip
from dlworker.frameworks.tinygrad.precision import MIXED, refuse_rough_erf, refuse_without_bfloat16, scaled_step
from dlworker.loss_scale import LossScale
from dlworker.protocol import RequestError

__all__ = ["SUPPORTS", "Trainer", "configure", "set_execution", "threads", "versions"]

SUPPORTS = {*KINDS, *LOSSES, *OPTIMIZERS, *MIXED, *EXECUTION, "schedule", "clip_norm", "lengths", "start", "pipeline"}


# Set by a framework whose tests use an OpenCL driver of the processor in place of a GPU.
PROCESSOR_AS_GPU = "DLBENCH_PROCESSOR_AS_GPU"
# Names the GPU that a run may use. Of tinygrad's back ends for NVIDIA's GPUs, CUDA and CL keep to it.
LEASE = "CUDA_VISIBLE_DEVICES"
# Devices that are no accelerator: the processor, and emulators that run on it.
PROCESSORS = ("CPU", "PYTHON", "NULL")


def configure(threads):
    """Set the maximum number of threads that tinygrad may use for one kernel."""
    NUM_CPU_THREADS.value = threads


def threads():
    """The maximum number of threads for one kernel; tinygrad decides how many it uses."""
    return NUM_CPU_THREADS.value


def versions():
    """tinygrad, and the compiler of its CPU kernels if there is one."""
    found = {"tinygrad": metadata.version("tinygrad")}
    compiler = os.environ.get("CC", "clang")
    if shutil.which(compiler):
        found["clang"] = subprocess.check_output([compiler, "-dumpversion"]).decode().strip()
    return found


def choose(device):
    """Set the default device; "gpu" is whichever accelerator tinygrad prefers."""
    if device == "cpu":
        DEV.value = "CPU"
        return
    DEV.value = ""
    found = _leased() or Device.DEFAULT.split(":")[0]
    if found == "NV" and os.environ.get(LEASE):
        message = (
            "tinygrad reaches NVIDIA's GPUs only by its back end NV, which ignores %s: another run may use the GPU"
        )
        raise RequestError("unsupported", message % LEASE)
    if found == "CPU":
        raise RequestError("unsupported", "tinygrad found no device except the CPU")
    DEV.value = "%s%s" % (found, device[len("gpu") :])
    kind, name = kind_and_name()
    if kind == "cpu" and PROCESSOR_AS_GPU not in os.environ:
        message = "tinygrad found no GPU: its %s device is the processor, %s" % (found, name)
        raise RequestError("unsupported", message)


def _leased():
    """The back end CUDA, if GPUs are named for it and it works: by default tinygrad prefers others."""
    if not os.environ.get(LEASE):
        return None
    try:
        Device["CUDA"]
    except Exception:  # Whatever a missing driver or library raises.
        return None
    return "CUDA"


def kind_and_name():
    """("gpu" or "cpu", its name) of the default device; OpenCL has drivers of processors, such as pocl."""
    found = Device[Device.DEFAULT]
    backend = Device.DEFAULT.split(":")[0]
    if backend != "CL":
        name = "%s %s" % (backend, getattr(found, "arch", ""))
        return "cpu" if backend in PROCESSORS else "gpu", name.strip()
    kind = ctypes.c_uint64()
    opencl.clGetDeviceInfo(found.cl_dev, opencl.CL_DEVICE_TYPE, ctypes.sizeof(kind), ctypes.byref(kind), None)
    return "cpu" if kind.value & opencl.CL_DEVICE_TYPE_CPU else "gpu", found.device_name


# Where tinygrad keeps an array, by kind and canonical role.
ARRAYS = {"weight": "weight", "bias": "bias"}
RECURRENT = {"weight": "cell.weight_ih", "recurrent": "cell.weight_hh", "bias": "cell.bias_ih"}
NORMALISED = {"scale": "weight", "shift": "bias"}
ARRAYS_OF = {
    "batch_norm": NORMALISED,
    "layer_norm": NORMALISED,
    "lstm": RECURRENT,
    "gru": dict(RECURRENT, recurrent_bias="cell.bias_hh"),
}
# nn.Linear and cells keep (outputs, inputs); convolutions are canonical already.
TRANSPOSED = {("dense", "weight"), ("lstm", "weight"), ("lstm", "recurrent"), ("gru", "weight"), ("gru", "recurrent")}


def captured(function):
    """A function that TinyJit captures on its first call."""
    captured = TinyJit(function)
    # TinyJit calls a function once before capturing, for lazy state. There is none here.
    captured.cnt = 1
    return captured


def held_bytes():
    """What tinygrad's buffers hold on the device in use."""
    return GlobalCounters.mem_used_per_device[Device.DEFAULT]


class Trainer:
    """The layers, their optimiser, the examples and the captured step."""

    def __init__(self, network, recipe, weights, device, seed):
        choose(device)
        # tinygrad counts what its buffers hold, which is read after each step: those of a captured step stay.
        self.most_bytes = 0
        mixed = MIXED.get(recipe["precision"])
        if mixed == dtypes.bfloat16 and device == "cpu":
            refuse_without_bfloat16()
        self.precision = DEFAULT_FLOAT.value = "float32" if mixed else recipe["precision"]
        self.dtype = mixed or to_dtype(self.precision)
        if recipe["precision"] == "float64":
            refuse_rough_erf(network["layers"])
        self.scale = LossScale() if mixed == dtypes.float16 else None
        Tensor.manual_seed(seed)
        self.network = network
        self.model = built(network, self.dtype)
        if weights is not None:
            self._set(weights)
        self.clip_norm = recipe.get("clip_norm")
        settings, parameters = recipe["optimizer"], nn.state.get_parameters(self.model)
        self.optimizer = OPTIMIZERS[settings["kind"]](parameters, settings, self.precision)
        Tensor.realize(*nn.state.get_parameters(self.model), *nn.state.get_parameters(self.optimizer))

    def _natives(self):
        """Canonical name, native parameter and whether the native layout is transposed."""
        for layer in self.network["layers"]:
            kind, native = layer["kind"], self.model[layer["name"]]
            for role, path in ARRAYS_OF.get(kind, ARRAYS).items():
                parameter = reduce(lambda owner, name: getattr(owner, name, None), path.split("."), native)
                if parameter is not None:
                    yield "%s.%s" % (layer["name"], role), parameter, (kind, role) in TRANSPOSED

    def _set(self, weights):
        for name, parameter, transposed in self._natives():
            array = weights[name].T if transposed else weights[name]
            parameter.replace(Tensor(np.array(array, dtype=self.precision, order="C")))

    def computes_on(self):
        return kind_and_name()

    def peak_device_bytes(self):
        return None if kind_and_name()[0] == "cpu" else self.most_bytes

    def parameters(self):
        return {name: tuple(p.shape[::-1] if t else p.shape) for name, p, t in self._natives()}

    def array(self, name):
        return next(p for known, p, _ in self._natives() if known == name).numpy()

    def describe(self):
        lines = ["%-10s %s" % (layer["name"], layer["kind"]) for layer in self.network["layers"]]
        shapes = ["%s %s" % (name, tensor.shape) for name, tensor in nn.state.get_state_dict(self.model).items()]
        return "\n".join(lines + shapes)

    def load(self, inputs, labels, order, rates=None):
        self.inputs, self.labels = self._inputs(inputs), self._labels(labels)
        Tensor.realize(self.inputs, self.labels)
        # The arguments of each step: its examples and, with a schedule, its learning rate.
        self.calls = [(Tensor(row).realize(),) for row in np.array(order, dtype=np.int32)]
        if rates is not None:
            rates = [Tensor([float(rate)], dtype=self.precision).realize() for rate in rates]
            self.calls = [(*call, rate) for call, rate in zip(self.calls, rates)]
        # Like all state of a step, that of the random numbers must exist before the step is captured.
        Tensor.rand(1).realize()
        if self.scale:
            # In between, the loss scale decides whether to update.
            self._step = partial(scaled_step, captured(self._scaled_gradients), captured(self.change), self.scale)
        else:
            self._step = captured(self._update)

    def feed(self, inputs, labels):
        # Into the buffers that the captured step reads: it would not see new tensors. Realising the examples first
        # would schedule twice, and scheduling takes most of the time.
        self.inputs.assign(self._inputs(inputs))
        self.labels.assign(self._labels(labels))
        Tensor.realize(self.inputs, self.labels)

    def _inputs(self, inputs):
        return Tensor(np.array(inputs, dtype=np.int32 if "vocabulary" in self.network else self.precision))

    def _labels(self, labels):
        has_flags = self.network["loss"] == "sigmoid_cross_entropy"
        return Tensor(np.array(labels, dtype=self.precision if has_flags else np.int32))

    @Context(TRAINING=1)
    def _update(self, index, rate=None):
        self.optimizer.zero_grad()
        loss = self.loss_of(index).backward()
        return loss.realize(*self._updates(rate))

    @Context(TRAINING=1)
    def _scaled_gradients(self, index, scale):
        self.optimizer.zero_grad()
        loss = self.loss_of(index)
        (loss * scale).sum().backward()
        gradients = [(parameter.grad / scale).contiguous() for parameter in self.optimizer.params]
        are_finite = sum(gradient.isfinite().logical_not().sum() for gradient in gradients) == 0
        Tensor.realize(loss, are_finite, *gradients, *self.optimizer.buffers)
        return [loss, are_finite, *gradients]

    @Context(TRAINING=1)
    def change(self, gradients, rate=None):
        """Update the parameters by these gradients."""
        for parameter, gradient in zip(self.optimizer.params, gradients):
            parameter.grad = gradient
        Tensor.realize(*self._updates(rate))

    def _updates(self, rate):
        """The update from the parameters' current gradients, not yet computed."""
        if self.clip_norm:
            clip(self.optimizer.params, self.clip_norm)
        if rate is not None:
            self.optimizer.lr = rate
        return self.optimizer.schedule_step()

    def loss_of(self, index):
        """The loss of these examples."""
        return LOSSES[self.network["loss"]](self.network, self._logits(self.inputs[index]), self.labels[index])

    def _logits(self, inputs):
        inputs = inputs if "vocabulary" in self.network else inputs.cast(self.dtype)
        return logits_of(self.network["layers"], self.model, inputs).cast(self.precision)

    def step(self, number):
        loss = self._step(*self.calls[number]).item()
        self.most_bytes = max(self.most_bytes, held_bytes())
        return loss

    def outputs(self, inputs, batch_size):
        inputs = self._inputs(inputs).realize()
        for first in range(0, len(inputs), batch_size):
            yield self._logits(inputs[first : first + batch_size]).numpy()
