"""PyTorch: an nn.Sequential, or a module of one's own where branches meet, trained eagerly."""

from contextlib import contextmanager
from functools import partial, reduce

import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812 - the name it has in PyTorch's own documentation
from torch import nn

from dlworker.frameworks.pytorch.layers import build
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
DTYPES = {"float32": torch.float32, "float64": torch.float64}
MIXED = {"bfloat16": torch.bfloat16, "float16": torch.float16} if hasattr(torch, "bfloat16") else {}


def configure(threads):
    """Threads inside one operator."""
    torch.set_num_threads(threads)


def threads():
    """The number of CPU threads inside one operator."""
    return torch.get_num_threads()


def versions():
    """PyTorch and, where there are, CUDA and cuDNN."""
    found = {"torch": torch.__version__, "cuda": torch.version.cuda, "cudnn": torch.backends.cudnn.version()}
    return {name: str(version) for name, version in found.items() if version is not None}


def loss_of(network):
    """The mean loss, as a function (logits, labels)."""
    ignored = network.get("ignored")

    def sigmoid_cross_entropy(logits, labels):
        return F.binary_cross_entropy_with_logits(logits, labels.view_as(logits).to(logits.dtype))

    def sequence_cross_entropy(logits, labels):
        rows, index = logits.reshape(-1, logits.shape[-1]), -100 if ignored is None else ignored
        return F.cross_entropy(rows, labels.reshape(-1), ignore_index=index)

    own = {"sigmoid_cross_entropy": sigmoid_cross_entropy, "sequence_cross_entropy": sequence_cross_entropy}
    return own.get(network["loss"], F.cross_entropy)


# Where PyTorch keeps an array, by kind and canonical role.
ARRAYS = {"weight": "weight", "bias": "bias"}
RECURRENT = {"weight": "rnn.weight_ih_l0", "recurrent": "rnn.weight_hh_l0", "bias": "rnn.bias_ih_l0"}
ARRAYS_OF = {
    "batch_norm": {"scale": "weight", "shift": "bias"},
    "lstm": RECURRENT,
    "gru": dict(RECURRENT, recurrent_bias="rnn.bias_hh_l0"),
}
# nn.Linear and nn.LSTM keep (outputs, inputs); convolutions are canonical as they are.
TRANSPOSED = {("dense", "weight"), ("lstm", "weight"), ("lstm", "recurrent"), ("gru", "weight"), ("gru", "recurrent")}


class Trainer:
    """The network, its optimiser and the examples, on one device."""

    def __init__(self, network, recipe, weights, device, seed):
        torch.manual_seed(seed)
        self.device = torch.device(device.replace("gpu", "cuda"))
        if self.device.type == "cuda" and not torch.cuda.is_available():
            raise RequestError("unsupported", "PyTorch %s finds no GPU" % torch.__version__)
        self.dtype = DTYPES.get(recipe["precision"], torch.float32)
        self.mixed, self.scaler = mixed_precision(recipe["precision"], self.device.type)
        if recipe["precision"] == "float16" and self.device.type == "cpu":
            refuse_half_lstms(network["layers"])
        self.network = network
        self.model = build(network).to(device=self.device, dtype=self.dtype)
        if weights is not None:
            self._set(weights)
        self.forward = self.model
        self.loss = loss_of(network)
        self.trained = [parameter for parameter in self.model.parameters() if parameter.requires_grad]
        self.optimizer = _optimizer(self.trained, recipe["optimizer"])
        self.clip_norm = recipe.get("clip_norm")

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
                    raise ValueError("%s: PyTorch has %s, the weights %s" % (name, tuple(parameter.shape), array.shape))
                parameter.copy_(torch.from_numpy(np.array(array)))

    def parameters(self):
        return {name: tuple(p.shape[::-1] if t else p.shape) for name, p, t in self._natives()}

    def describe(self):
        return str(self.model)

    def peak_device_bytes(self):
        return torch.cuda.max_memory_allocated(self.device) if self.device.type == "cuda" else None

    def load(self, inputs, labels, order, rates=None):
        self.feed(inputs, labels)
        self.order = torch.from_numpy(np.array(order, dtype=np.int64)).to(self.device)
        self.rates = rates
        self.model.train()

    def feed(self, inputs, labels):
        self.inputs, self.labels = self._inputs(inputs), torch.from_numpy(np.array(labels)).to(self.device)

    def _inputs(self, inputs):
        dtype = torch.int64 if "vocabulary" in self.network else self.dtype
        return torch.from_numpy(np.array(inputs)).to(device=self.device, dtype=dtype)

    def step(self, number):
        index = self.order[number]
        self.optimizer.zero_grad()
        with self.mixed():
            loss = self.loss(self.forward(self.inputs[index]), self.labels[index])
        (self.scaler.scale(loss) if self.scaler else loss).backward()
        if self.scaler:
            self.scaler.unscale_(self.optimizer)
        if self.clip_norm:
            clip(self.trained, self.clip_norm)
        if self.rates is not None:
            for group in self.optimizer.param_groups:
                group["lr"] = float(self.rates[number])
        if self.scaler:
            # It leaves a step out whose gradients are too large for the type.
            self.scaler.step(self.optimizer)
            self.scaler.update()
        else:
            self.optimizer.step()
        return loss.detach()

    def outputs(self, inputs, batch_size):
        self.model.eval()
        for x in self._inputs(inputs).split(batch_size):
            with torch.no_grad(), self.mixed():
                outputs = self.forward(x)
            # NumPy has no bfloat16.
            yield outputs.to(self.dtype).cpu().numpy()
        self.model.train()


def mixed_precision(precision, kind):
    """A function that makes the context of a forward pass, and what scales a loss of float16, if it is needed."""
    if precision not in ("bfloat16", "float16"):
        return no_context, None
    if not hasattr(torch, "amp") or not hasattr(torch.amp, "GradScaler"):
        raise RequestError("unsupported", "torch %s has no torch.amp.GradScaler; 2.3 is the first" % torch.__version__)
    scaler = torch.amp.GradScaler(kind) if precision == "float16" else None
    return partial(torch.autocast, device_type=kind, dtype=MIXED[precision]), scaler


def refuse_half_lstms(layers):
    """Where a CPU computes in float16 PyTorch leaves LSTMs to oneDNN, but for those of lengths."""
    left = [layer["name"] for layer in layers if layer["kind"] == "lstm" and "lengths" not in layer]
    if left and not trains_half_lstms():
        told = "on this CPU PyTorch leaves %s to oneDNN, which trains no LSTM in float16; bfloat16 it does"
        raise RequestError("unsupported", told % " and ".join(left))


def trains_half_lstms():
    """Tried, for which processors PyTorch leaves to oneDNN is not what oneDNN says of itself."""
    try:
        # The numbers of the seed are the network's.
        with torch.random.fork_rng(devices=[]), torch.autocast(device_type="cpu", dtype=torch.float16):
            nn.LSTM(4, 4)(torch.zeros(2, 3, 4))[0].sum().backward()
    except RuntimeError:
        return False
    return True


@contextmanager
def no_context():
    """contextlib.nullcontext, which Python 3.6 has not."""
    yield


def clip(parameters, length):
    """Shorten the gradient of all parameters together. clip_grad_norm_ adds 1e-6 to the norm, which this does not."""
    gradients = [parameter.grad for parameter in parameters]
    norm = torch.stack([gradient.norm() for gradient in gradients]).norm()
    factor = (length / norm).clamp(max=1.0)
    for gradient in gradients:
        gradient.mul_(factor)


class AdamOfOld(torch.optim.Adam):
    """Adam of PyTorch before 1.3, which adds epsilon to the root before it is corrected: so it gets a corrected one."""

    def step(self, closure=None):
        for group in self.param_groups:
            taken = next((self.state[p]["step"] for p in group["params"] if p in self.state), 0)
            group["eps"] = self.epsilon * (1 - group["betas"][1] ** (taken + 1)) ** 0.5
        return super().step(closure)


def _optimizer(parameters, settings):
    rate = settings["learning_rate"]
    if settings["kind"] == "adam":
        betas, epsilon = (settings["beta1"], settings["beta2"]), settings["epsilon"]
        if tuple(map(int, torch.__version__.split(".")[:2])) >= (1, 3):
            return torch.optim.Adam(parameters, lr=rate, betas=betas, eps=epsilon)
        adam = AdamOfOld(parameters, lr=rate, betas=betas)
        adam.epsilon = epsilon
        return adam
    if settings["kind"] == "adadelta":
        return torch.optim.Adadelta(parameters, lr=rate, rho=settings["rho"], eps=settings["epsilon"])
    if settings["kind"] == "rmsprop":
        return torch.optim.RMSprop(parameters, lr=rate, alpha=settings["rho"], eps=settings["epsilon"])
    return torch.optim.SGD(
        parameters,
        lr=rate,
        momentum=settings["momentum"],
        nesterov=settings["nesterov"],
        weight_decay=settings["weight_decay"],
    )
