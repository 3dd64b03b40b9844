"""PyTorch: an nn.Sequential, or a custom module if there are branches, trained eagerly."""

from functools import reduce

import numpy as np
import torch
from torch import nn

from dlworker.frameworks.pytorch.execution import EXECUTION, memory_format, set_execution
from dlworker.frameworks.pytorch.layers import LAYERS, build, pinned
from dlworker.frameworks.pytorch.losses import LOSSES
from dlworker.frameworks.pytorch.optimizers import OPTIMIZERS, clip
from dlworker.frameworks.pytorch.precision import MIXED, mixed_precision, refuse_half_lstms
from dlworker.frameworks.pytorch.releases import refuse_newer
from dlworker.graph import lengths
from dlworker.protocol import RequestError

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
DTYPES = {"float32": torch.float32, "float64": torch.float64}


def configure(threads):
    """Set the number of CPU threads inside one operator."""
    torch.set_num_threads(threads)


def threads():
    """The number of CPU threads inside one operator."""
    return torch.get_num_threads()


def versions():
    """PyTorch and, if available, CUDA and cuDNN."""
    found = {"torch": torch.__version__, "cuda": torch.version.cuda, "cudnn": torch.backends.cudnn.version()}
    return {name: str(version) for name, version in found.items() if version is not None}


# Where PyTorch keeps an array, by kind and canonical role.
ARRAYS = {"weight": "weight", "bias": "bias"}
RECURRENT = {"weight": "rnn.weight_ih_l0", "recurrent": "rnn.weight_hh_l0", "bias": "rnn.bias_ih_l0"}
NORMALISED = {"scale": "weight", "shift": "bias"}
ARRAYS_OF = {
    "batch_norm": NORMALISED,
    "layer_norm": NORMALISED,
    "lstm": RECURRENT,
    "gru": dict(RECURRENT, recurrent_bias="rnn.bias_hh_l0"),
}
# nn.Linear and nn.LSTM keep (outputs, inputs); convolutions are canonical already.
TRANSPOSED = {("dense", "weight"), ("lstm", "weight"), ("lstm", "recurrent"), ("gru", "weight"), ("gru", "recurrent")}


class Trainer:
    """The network, its optimiser and the examples, on one device."""

    def __init__(self, network, recipe, weights, device, seed):
        torch.manual_seed(seed)
        self.device = torch.device(device.replace("gpu", "cuda"))
        if self.device.type == "cuda" and not torch.cuda.is_available():
            raise RequestError("unsupported", "PyTorch %s found no GPU" % torch.__version__)
        self.dtype = DTYPES.get(recipe["precision"], torch.float32)
        self.mixed, self.scaler = mixed_precision(recipe["precision"], self.device.type)
        if recipe["precision"] == "float16" and self.device.type == "cpu":
            refuse_half_lstms(network["layers"])
        refuse_newer(network, recipe)
        self.network = network
        # Only images have channels; of the weights, PyTorch moves only those of convolutions.
        self.format = memory_format(recipe) if len(network["input"]) == 3 else {}
        self.model = build(network).to(device=self.device, dtype=self.dtype, **self.format)
        if weights is not None:
            self._set(weights)
        self.forward = self._called(self.model)
        self.loss = LOSSES[network["loss"]](network)
        self.trained = [parameter for parameter in self.model.parameters() if parameter.requires_grad]
        self.optimizer = OPTIMIZERS[recipe["optimizer"]["kind"]](self.trained, recipe["optimizer"])
        self.clip_norm, self.accumulation = recipe.get("clip_norm"), recipe.get("accumulation", 1)

    def _called(self, model):
        """What is called to run a model."""
        return model

    def _natives(self):
        """Canonical name, native parameter and whether the native layout is transposed."""
        for layer in self.network["layers"]:
            kind, module = layer["kind"], getattr(self.model, layer["name"])
            if isinstance(module, nn.Sequential):
                module = module[-1]
            for role, path in ARRAYS_OF.get(kind, ARRAYS).items():
                parameter = reduce(lambda owner, name: getattr(owner, name, None), path.split("."), module)
                if parameter is not None:
                    yield "%s.%s" % (layer["name"], role), parameter, (kind, role) in TRANSPOSED

    def _set(self, weights):
        with torch.no_grad():
            for name, parameter, transposed in self._natives():
                array = weights[name].T if transposed else weights[name]
                if array.shape != tuple(parameter.shape):
                    raise ValueError(
                        "%s: PyTorch has shape %s, the weights have %s" % (name, tuple(parameter.shape), array.shape)
                    )
                parameter.copy_(torch.from_numpy(np.array(array)))

    def parameters(self):
        return {name: tuple(p.shape[::-1] if t else p.shape) for name, p, t in self._natives()}

    def array(self, name):
        return next(p for known, p, _ in self._natives() if known == name).detach().cpu().numpy()

    def describe(self):
        return str(self.model)

    def computes_on(self):
        if self.device.type != "cuda":
            return self.device.type, ""
        return "gpu", torch.cuda.get_device_name(self.device)

    def peak_device_bytes(self):
        return torch.cuda.max_memory_allocated(self.device) if self.device.type == "cuda" else None

    def mark(self):
        if self.device.type != "cuda":
            return None
        event = torch.cuda.Event(enable_timing=True)
        event.record()
        return event

    def marked_seconds(self, first, last):
        return first.elapsed_time(last) / 1e3

    def load(self, inputs, labels, order, rates=None):
        self.feed(inputs, labels)
        # Of lengths, which are on the host, a step needs the same rows.
        self.rows = torch.from_numpy(np.array(order, dtype=np.int64))
        self.order = self.rows.to(self.device)
        self.rates = rates
        self.model.train()

    def stage(self, inputs, labels):
        """A batch in memory from which a GPU copies without the processor."""
        return [pinned(_on_host(array), self.device) for array in (inputs, labels)]

    def feed(self, inputs, labels):
        inputs, labels = _on_host(inputs), _on_host(labels)
        self.lengths = self._lengths(inputs.numpy())
        # A copy from pinned memory is queued with the device's work. The device changes the type.
        self.inputs, self.labels = (array.to(self.device, non_blocking=True) for array in (inputs, labels))
        self.inputs = self.inputs.to(self._input_type())

    def _input_type(self):
        return torch.int64 if "vocabulary" in self.network else self.dtype

    def _inputs(self, inputs):
        return torch.from_numpy(np.array(inputs)).to(device=self.device, dtype=self._input_type())

    def _lengths(self, inputs):
        found = lengths(self.network["layers"], np.asarray(inputs))
        return {name: torch.from_numpy(of_all) for name, of_all in found.items()}

    def _formatted(self, inputs):
        return inputs.contiguous(**self.format) if self.format else inputs

    def step(self, number):
        self.optimizer.zero_grad()
        losses = [self.backward(self.loss_of(*self.batch(*rows))) for rows in self.parts(number)]
        self.change(number)
        return sum(losses) if self.accumulation > 1 else losses[0]

    def parts(self, number):
        """The rows of a step's examples, on the device and on the host, for each part of the batch."""
        rows = self.order[number], self.rows[number]
        return zip(*(of_all.chunk(self.accumulation) for of_all in rows)) if self.accumulation > 1 else [rows]

    def batch(self, index, on_host):
        """The inputs and labels of these rows, and what else the model is called with."""
        inputs, labels = self._formatted(self.inputs[index]), self.labels[index]
        # What a detector trains its second stage on depends on the labels.
        more = {"truth": labels} if self.network["loss"] == "detection" else _of_rows(self.lengths, on_host)
        return inputs, labels, more

    def loss_of(self, inputs, labels, more):
        """What these examples add to the loss of the batch."""
        with self.mixed():
            loss = self.loss(self.forward(inputs, **more), labels)
        return loss / self.accumulation if self.accumulation > 1 else loss

    def backward(self, loss):
        """Add the gradients of some examples; returns their loss, which needs no more gradients."""
        (self.scaler.scale(loss) if self.scaler else loss).backward()
        return loss.detach()

    def change(self, number):
        """Update the parameters by their gradients."""
        if self.scaler:
            self.scaler.unscale_(self.optimizer)
        if self.clip_norm:
            clip(self.trained, self.clip_norm)
        if self.rates is not None:
            for group in self.optimizer.param_groups:
                group["lr"] = float(self.rates[number])
        if self.scaler:
            # The scaler skips steps whose gradients overflow.
            self.scaler.step(self.optimizer)
            self.scaler.update()
        else:
            self.optimizer.step()

    def outputs(self, inputs, batch_size):
        self.model.eval()
        of_all = self._lengths(inputs)
        for number, x in enumerate(self._inputs(inputs).split(batch_size)):
            rows = slice(number * batch_size, number * batch_size + len(x))
            with torch.no_grad(), self.mixed():
                outputs = self.forward(self._formatted(x), **_of_rows(of_all, rows))
            # NumPy has no bfloat16.
            yield outputs.to(self.dtype).cpu().numpy()
        self.model.train()


def _on_host(array):
    """A tensor on the host, which may be one already."""
    return array if torch.is_tensor(array) else torch.from_numpy(np.array(array))


def _of_rows(of_all, rows):
    """The keyword for the lengths of some examples; none for a network whose layers need none."""
    return {"on_host": {name: found[rows] for name, found in of_all.items()}} if of_all else {}
