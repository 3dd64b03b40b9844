"""tinygrad: a list of layers, or a graph of them, and one TinyJit step.

Images are channels first, as tinygrad's own layers want them.
"""

import os
import shutil
import subprocess
from functools import partial, reduce
from importlib import metadata  # novm: tinygrad itself wants Python 3.11

import numpy as np
from tinygrad import Context, Device, Tensor, TinyJit, dtypes, nn
from tinygrad.dtype import to_dtype
from tinygrad.helpers import DEFAULT_FLOAT, DEV, NUM_CPU_THREADS

from dlworker.frameworks.tinygrad.layers import BatchNorm, Conv2d, Embedding, Linear, Recurrent, local_response_norm
from dlworker.frameworks.tinygrad.optimizers import clip, optimizer_of
from dlworker.frameworks.tinygrad.precision import MIXED, refuse_without_bfloat16, scaled_step, widened
from dlworker.graph import is_chain, run, wired
from dlworker.loss_scale import LossScale
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
    settings = {"groups": layer.get("groups", 1), "bias": layer["bias"]}
    return Conv2d(channels, filters, tuple(layer["kernel"]), tuple(layer["stride"]), padding, **settings)


def max_pool(layer):
    window, stride, padding = tuple(layer["window"]), tuple(layer["stride"]), _sides(layer["padding"])
    return lambda x: x.max_pool2d(window, stride, padding=padding)


def avg_pool(layer):
    window, stride, padding = tuple(layer["window"]), tuple(layer["stride"]), _sides(layer["padding"])
    return lambda x: x.avg_pool2d(window, stride, padding=padding, count_include_pad=False)


def batch_norm(layer):
    # tinygrad's momentum is the share of the new value, the neutral decay that of the old one.
    return BatchNorm(layer["input"][0], eps=layer["epsilon"], momentum=1 - layer["decay"])


def _sides(padding):
    """Left, right, top, bottom: tinygrad's operators pad unevenly themselves."""
    (top, bottom), (left, right) = padding
    return (left, right, top, bottom)


# Every layer is something that can be called with a tensor, or with several.
LAYERS = {
    "conv2d": conv2d,
    "grouped_conv2d": conv2d,
    "max_pool": max_pool,
    "avg_pool": avg_pool,
    "batch_norm": batch_norm,
    "local_response_norm": local_response_norm,
    # Of a sequence it takes the features of each step.
    "dense": lambda layer: Linear(layer["input"][-1], layer["output"][-1], bias=layer["bias"]),
    "flatten": lambda layer: lambda x: x.flatten(1),
    "dropout": lambda layer: lambda x: x.dropout(layer["rate"]),
    "relu": lambda layer: Tensor.relu,
    "tanh": lambda layer: Tensor.tanh,
    "sigmoid": lambda layer: Tensor.sigmoid,
    "log_softmax": lambda layer: widened(Tensor.log_softmax),
    "pad_channels": lambda layer: lambda x: x.pad((None, (0, layer["added"]), None, None)),
    "add": lambda layer: lambda *values: sum(values[1:], values[0]),
    # Channels of images, features of vectors and sequences.
    "concat": lambda layer: lambda *values: Tensor.cat(*values, dim=1 if values[0].ndim == 4 else -1),
    "cut": lambda layer: lambda tokens: tokens[:, layer["first"] : layer["last"]],
    "lstm": Recurrent,
    "gru": Recurrent,
}


def built(network, dtype):
    """The layers by name; ``dtype`` is what an embedding gives, which its input does not tell."""
    known = dict(LAYERS, embedding=lambda layer: Embedding(layer["vocabulary"], layer["output"][-1], dtype))
    return {layer["name"]: known[layer["kind"]](layer) for layer in network["layers"]}


def logits_of(layers, model, x):
    """What the layers make of a batch, in order or as they are wired."""
    if is_chain(layers) and not any(layer["kind"] in ("lstm", "gru") for layer in layers):
        return x.sequential(list(model.values()))
    lengths, states = {}, {}

    def call(layer, values):
        name, kind = layer["name"], layer["kind"]
        if kind == "embedding" and layer["padding"] is not None:
            lengths[name] = (values[0] != layer["padding"]).sum(1)
        if kind in ("lstm", "gru"):
            known = lengths.get(layer.get("lengths")), states.get(layer.get("start"))
            values[0], states[name] = model[name](values[0], *known)
            return values[0]
        return model[name](*values)

    return run(wired(layers), x, call)


def loss_of(network, logits, labels):
    if network["loss"] == "sigmoid_cross_entropy":
        return logits.binary_crossentropy_logits(labels.reshape(logits.shape))
    # -1 is no label: it leaves none out.
    ignored = -1 if network.get("ignored") is None else network["ignored"]
    return logits.sparse_categorical_crossentropy(labels, ignore_index=ignored)


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


# Where tinygrad keeps an array, by kind and canonical role.
ARRAYS = {"weight": "weight", "bias": "bias"}
RECURRENT = {"weight": "cell.weight_ih", "recurrent": "cell.weight_hh", "bias": "cell.bias_ih"}
ARRAYS_OF = {
    "batch_norm": {"scale": "weight", "shift": "bias"},
    "lstm": RECURRENT,
    "gru": dict(RECURRENT, recurrent_bias="cell.bias_hh"),
}
# nn.Linear and cells keep (outputs, inputs); convolutions are canonical as they are.
TRANSPOSED = {("dense", "weight"), ("lstm", "weight"), ("lstm", "recurrent"), ("gru", "weight"), ("gru", "recurrent")}


def _captured(function):
    """A function that TinyJit captures when it is called for the first time."""
    captured = TinyJit(function)
    # It calls a function once before, for lazy state. Here is none.
    captured.cnt = 1
    return captured


class Trainer:
    """The layers, their optimiser, the examples and the captured step."""

    def __init__(self, network, recipe, weights, device, seed):
        _choose(device)
        mixed = MIXED.get(recipe["precision"])
        if mixed == dtypes.bfloat16 and device == "cpu":
            refuse_without_bfloat16()
        self.precision = DEFAULT_FLOAT.value = "float32" if mixed else recipe["precision"]
        self.dtype = mixed or to_dtype(self.precision)
        self.scale = LossScale() if mixed == dtypes.float16 else None
        Tensor.manual_seed(seed)
        self.network = network
        self.model = built(network, self.dtype)
        if weights is not None:
            self._set(weights)
        self.clip_norm = recipe.get("clip_norm")
        self.optimizer = optimizer_of(nn.state.get_parameters(self.model), recipe["optimizer"], self.precision)
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

    def parameters(self):
        return {name: tuple(p.shape[::-1] if t else p.shape) for name, p, t in self._natives()}

    def describe(self):
        lines = ["%-10s %s" % (layer["name"], layer["kind"]) for layer in self.network["layers"]]
        shapes = ["%s %s" % (name, tensor.shape) for name, tensor in nn.state.get_state_dict(self.model).items()]
        return "\n".join(lines + shapes)

    def load(self, inputs, labels, order, rates=None):
        self.inputs, self.labels = self._inputs(inputs), self._labels(labels)
        Tensor.realize(self.inputs, self.labels)
        # What a step is called with: its examples and, where that changes, its learning rate.
        self.calls = [(Tensor(row).realize(),) for row in np.array(order, dtype=np.int32)]
        if rates is not None:
            rates = [Tensor([float(rate)], dtype=self.precision).realize() for rate in rates]
            self.calls = [(*call, rate) for call, rate in zip(self.calls, rates)]
        # Like every state of a step, that of the random numbers must exist before the step is captured.
        Tensor.rand(1).realize()
        if self.scale:
            # Between the two it is decided whether there is an update.
            self._step = partial(scaled_step, _captured(self._scaled_gradients), _captured(self._apply), self.scale)
        else:
            self._step = _captured(self._update)

    def feed(self, inputs, labels):
        # Into the buffers that the captured step reads: it would not see other tensors. Realised before, they would be
        # scheduled twice, which is most of what this takes.
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
        loss = self._loss(index).backward()
        return loss.realize(*self._updates(rate))

    @Context(TRAINING=1)
    def _scaled_gradients(self, index, scale):
        self.optimizer.zero_grad()
        loss = self._loss(index)
        (loss * scale).sum().backward()
        gradients = [(parameter.grad / scale).contiguous() for parameter in self.optimizer.params]
        are_finite = sum(gradient.isfinite().logical_not().sum() for gradient in gradients) == 0
        Tensor.realize(loss, are_finite, *gradients, *self.optimizer.buffers)
        return [loss, are_finite, *gradients]

    @Context(TRAINING=1)
    def _apply(self, gradients, rate=None):
        for parameter, gradient in zip(self.optimizer.params, gradients):
            parameter.grad = gradient
        Tensor.realize(*self._updates(rate))

    def _updates(self, rate):
        """The update by the gradients that the parameters have, not computed yet."""
        if self.clip_norm:
            clip(self.optimizer.params, self.clip_norm)
        if rate is not None:
            self.optimizer.lr = rate
        return self.optimizer.schedule_step()

    def _loss(self, index):
        return loss_of(self.network, self._logits(self.inputs[index]), self.labels[index])

    def _logits(self, inputs):
        inputs = inputs if "vocabulary" in self.network else inputs.cast(self.dtype)
        return logits_of(self.network["layers"], self.model, inputs).cast(self.precision)

    def step(self, number):
        return self._step(*self.calls[number]).item()

    def outputs(self, inputs, batch_size):
        inputs = self._inputs(inputs).realize()
        for first in range(0, len(inputs), batch_size):
            yield self._logits(inputs[first : first + batch_size]).numpy()
