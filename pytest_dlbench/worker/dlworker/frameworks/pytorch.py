"""PyTorch: an nn.Sequential, or a module of one's own where branches meet, trained eagerly."""

from collections import OrderedDict
from functools import reduce

import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812 - the name it has in PyTorch's own documentation
from torch import nn

from dlworker.graph import is_chain, run

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


class View(nn.Module):
    """Flattening as it was written before PyTorch 1.2."""

    def forward(self, x):
        return x.view(len(x), -1)


# All that this file needs and PyTorch 1.0 lacks.
Flatten = getattr(nn, "Flatten", View)


class AvgPool2dUneven(nn.Module):
    """Average pooling whose padding differs between the sides, which nn.AvgPool2d cannot do."""

    def __init__(self, window, stride, sides):
        super().__init__()
        self.window, self.stride, self.sides = window, stride, sides

    def forward(self, x):
        total = F.avg_pool2d(F.pad(x, self.sides), self.window, self.stride)
        share = F.avg_pool2d(F.pad(torch.ones_like(x[:1, :1]), self.sides), self.window, self.stride)
        return total / share


class PadChannels(nn.Module):
    """Channels of zeros behind those that are there."""

    def __init__(self, added):
        super().__init__()
        self.added = added

    def forward(self, x):
        return F.pad(x, (0, 0, 0, 0, 0, self.added))


class Concat(nn.Module):
    """Several values side by side: channels of images, features of vectors and sequences."""

    def forward(self, *values):
        return torch.cat(values, dim=1 if values[0].dim() == 4 else -1)


class Add(nn.Module):
    """The sum of several values."""

    def forward(self, first, *others):
        for other in others:
            first = first + other
        return first


class Cut(nn.Module):
    """A part of a row of tokens."""

    def __init__(self, first, last):
        super().__init__()
        self.first, self.last = first, last

    def forward(self, tokens):
        return tokens[:, self.first : self.last]


class Recurrent(nn.Module):
    """nn.LSTM or nn.GRU, batch first; gives all outputs or the last, and the state it ends in.

    PyTorch's LSTM has two biases where one would do; the second stays at zero and is not trained.
    """

    def __init__(self, layer):
        super().__init__()
        kind = nn.LSTM if layer["kind"] == "lstm" else nn.GRU
        self.rnn = kind(layer["input"][1], layer["units"], batch_first=True)
        self.gives_sequence = layer["sequence"]
        self.has_one_bias = layer["kind"] == "lstm"
        if self.has_one_bias:
            nn.init.zeros_(self.rnn.bias_hh_l0)
            self.rnn.bias_hh_l0.requires_grad = False

    def forward(self, x, lengths=None, start=None):
        if lengths is None:
            outputs, state = self.rnn(x, start)
            return (outputs if self.gives_sequence else outputs[:, -1]), state
        # A packed sequence has the longest first; PyTorch 1.0 does not sort by itself.
        lengths, order = lengths.sort(descending=True)
        back = order.argsort()
        if start is not None:
            start = _each(start, lambda part: part[:, order])
        packed = nn.utils.rnn.pack_padded_sequence(x[order], lengths.cpu(), batch_first=True)
        outputs, state = self.rnn(packed, start)
        state = _each(state, lambda part: part[:, back])
        if self.gives_sequence:
            padded, _ = nn.utils.rnn.pad_packed_sequence(outputs, batch_first=True, total_length=x.shape[1])
            return padded[back], state
        return (state[0] if isinstance(state, tuple) else state)[0], state


def _each(state, change):
    """A changed state: an LSTM's has two parts, a GRU's one."""
    return tuple(map(change, state)) if isinstance(state, tuple) else change(state)


class Graph(nn.Module):
    """A network whose layers do not simply follow each other; its submodules bear the names of the layers."""

    def __init__(self, layers, modules):
        super().__init__()
        self.layers = layers
        for name, module in modules.items():
            self.add_module(name, module)

    def forward(self, x):
        lengths, states = {}, {}

        def call(layer, values):
            name, module = layer["name"], getattr(self, layer["name"])
            if layer["kind"] == "embedding" and layer["padding"] is not None:
                lengths[name] = (values[0] != layer["padding"]).sum(1)
            if layer["kind"] in ("lstm", "gru"):
                start = states.get(layer.get("start"))
                values[0], states[name] = module(values[0], lengths.get(layer.get("lengths")), start)
                return values[0]
            return module(*values)

        return run(self.layers, x, call)


def conv2d(layer):
    padding, before = _padding(layer, 0.0)
    channels, filters = layer["input"][0], layer["output"][0]
    settings = {"stride": layer["stride"], "bias": layer["bias"], "groups": layer.get("groups", 1)}
    return before + [nn.Conv2d(channels, filters, layer["kernel"], padding=padding, **settings)]


def max_pool(layer):
    padding, before = _padding(layer, -float("inf"))
    return before + [nn.MaxPool2d(layer["window"], stride=layer["stride"], padding=padding)]


def avg_pool(layer):
    if _is_even(layer["padding"]):
        padding, _ = _padding(layer, 0.0)
        return [nn.AvgPool2d(layer["window"], stride=layer["stride"], padding=padding, count_include_pad=False)]
    return [AvgPool2dUneven(layer["window"], layer["stride"], _sides(layer["padding"]))]


def batch_norm(layer):
    norm = nn.BatchNorm2d if len(layer["input"]) == 3 else nn.BatchNorm1d
    # PyTorch's momentum is the share of the new value, the neutral decay that of the old one.
    return [norm(layer["input"][0], eps=layer["epsilon"], momentum=1 - layer["decay"])]


LAYERS = {
    "conv2d": conv2d,
    "grouped_conv2d": conv2d,
    "max_pool": max_pool,
    "avg_pool": avg_pool,
    "batch_norm": batch_norm,
    # Of a sequence nn.Linear takes the features of each step.
    "dense": lambda layer: [nn.Linear(layer["input"][-1], layer["output"][-1], bias=layer["bias"])],
    "flatten": lambda layer: [Flatten()],
    "dropout": lambda layer: [nn.Dropout(layer["rate"])],
    "relu": lambda layer: [nn.ReLU()],
    "tanh": lambda layer: [nn.Tanh()],
    "sigmoid": lambda layer: [nn.Sigmoid()],
    "log_softmax": lambda layer: [nn.LogSoftmax(-1)],
    "local_response_norm": lambda layer: [
        nn.LocalResponseNorm(layer["size"], alpha=layer["alpha"], beta=layer["beta"], k=layer["k"])
    ],
    "pad_channels": lambda layer: [PadChannels(layer["added"])],
    "add": lambda layer: [Add()],
    "concat": lambda layer: [Concat()],
    "cut": lambda layer: [Cut(layer["first"], layer["last"])],
    "embedding": lambda layer: [nn.Embedding(layer["vocabulary"], layer["output"][-1])],
    "lstm": lambda layer: [Recurrent(layer)],
    "gru": lambda layer: [Recurrent(layer)],
}


def _is_even(padding):
    return all(first == last for first, last in padding)


def _sides(padding):
    (top, bottom), (left, right) = padding
    return (left, right, top, bottom)


def _padding(layer, value):
    """The padding that the operator does itself, and the module that must come before it."""
    if _is_even(layer["padding"]):
        return [first for first, _ in layer["padding"]], []
    return 0, [nn.ConstantPad2d(_sides(layer["padding"]), value)]


def build(network):
    """The neutral network as one nn.Sequential, or as a Graph; a layer's own module bears its name."""
    layers = network["layers"]
    modules = OrderedDict()
    if is_chain(layers) and not any(layer["kind"] in ("lstm", "gru") for layer in layers):
        for layer in layers:
            built = LAYERS[layer["kind"]](layer)
            for module in built[:-1]:
                modules["%s_pad" % layer["name"]] = module
            modules[layer["name"]] = built[-1]
        return nn.Sequential(modules)
    for layer in layers:
        built = LAYERS[layer["kind"]](layer)
        modules[layer["name"]] = built[0] if len(built) == 1 else nn.Sequential(*built)
    return Graph(layers, modules)


def loss_of(network):
    """The loss, as a function (logits, labels, reduction)."""
    ignored = network.get("ignored")

    def sigmoid_cross_entropy(logits, labels, reduction="mean"):
        return F.binary_cross_entropy_with_logits(logits, labels.view_as(logits).to(logits.dtype), reduction=reduction)

    def sequence_cross_entropy(logits, labels, reduction="mean"):
        rows, index = logits.reshape(-1, logits.shape[-1]), -100 if ignored is None else ignored
        return F.cross_entropy(rows, labels.reshape(-1), ignore_index=index, reduction=reduction)

    own = {"sigmoid_cross_entropy": sigmoid_cross_entropy, "sequence_cross_entropy": sequence_cross_entropy}
    return own.get(network["loss"], F.cross_entropy)


def answers(network, logits, labels):
    """How many are right, and how many there are."""
    ignored = network.get("ignored")
    if network["loss"] == "sigmoid_cross_entropy":
        right = (logits > 0) == (labels.view_as(logits) > 0)
    else:
        right = logits.argmax(-1) == labels
    if ignored is None:
        return int(right.sum()), labels.numel()
    counts = labels != ignored
    return int((right & counts).sum()), int(counts.sum())


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
        self.dtype = DTYPES[recipe["precision"]]
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

    def load(self, inputs, labels, order, rates=None):
        self.inputs, self.labels = self._examples(inputs, labels)
        self.order = torch.from_numpy(np.array(order, dtype=np.int64)).to(self.device)
        self.rates = rates
        self.model.train()

    def _examples(self, inputs, labels):
        dtype = torch.int64 if "vocabulary" in self.network else self.dtype
        inputs = torch.from_numpy(np.array(inputs)).to(device=self.device, dtype=dtype)
        return inputs, torch.from_numpy(np.array(labels)).to(self.device)

    def step(self, number):
        index = self.order[number]
        self.optimizer.zero_grad()
        loss = self.loss(self.forward(self.inputs[index]), self.labels[index])
        loss.backward()
        if self.clip_norm:
            clip(self.trained, self.clip_norm)
        if self.rates is not None:
            for group in self.optimizer.param_groups:
                group["lr"] = float(self.rates[number])
        self.optimizer.step()
        return loss.detach()

    def evaluate(self, inputs, labels, batch_size):
        self.model.eval()
        inputs, labels = self._examples(inputs, labels)
        correct, total, count = 0, 0.0, 0
        with torch.no_grad():
            for x, y in zip(inputs.split(batch_size), labels.split(batch_size)):
                logits = self.forward(x)
                right, answered = answers(self.network, logits, y)
                correct, count = correct + right, count + answered
                total += float(self.loss(logits, y, reduction="sum"))
        self.model.train()
        return correct, total / count


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
