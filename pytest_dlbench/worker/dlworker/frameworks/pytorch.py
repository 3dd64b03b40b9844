"""PyTorch: an nn.Sequential trained eagerly."""

from collections import OrderedDict

import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812 - the name it has in PyTorch's own documentation
from torch import nn

from dlworker.protocol import RequestError

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


def conv2d(layer):
    padding, before = _padding(layer, 0.0)
    channels, filters = layer["input"][0], layer["output"][0]
    conv = nn.Conv2d(channels, filters, layer["kernel"], stride=layer["stride"], padding=padding, bias=layer["bias"])
    return before + [conv]


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
    "max_pool": max_pool,
    "avg_pool": avg_pool,
    "batch_norm": batch_norm,
    "dense": lambda layer: [nn.Linear(layer["input"][0], layer["output"][0], bias=layer["bias"])],
    "flatten": lambda layer: [Flatten()],
    "dropout": lambda layer: [nn.Dropout(layer["rate"])],
    "relu": lambda layer: [nn.ReLU()],
    "tanh": lambda layer: [nn.Tanh()],
    "sigmoid": lambda layer: [nn.Sigmoid()],
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
    """The neutral network as one nn.Sequential; a layer's own module bears its name."""
    modules = OrderedDict()
    for layer in network["layers"]:
        if layer["kind"] not in LAYERS:
            raise RequestError("unsupported", "the PyTorch builder has no layer %r" % layer["kind"])
        built = LAYERS[layer["kind"]](layer)
        for module in built[:-1]:
            modules["%s_pad" % layer["name"]] = module
        modules[layer["name"]] = built[-1]
    return nn.Sequential(modules)


ROLES = {"scale": "weight", "shift": "bias"}


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
        self.optimizer = _optimizer(self.model, recipe["optimizer"])

    def _natives(self):
        """Canonical name, native parameter and whether the native layout is transposed."""
        modules = dict(self.model.named_children())
        for layer in self.network["layers"]:
            for role in ("weight", "bias") if layer["kind"] != "batch_norm" else ("scale", "shift"):
                parameter = getattr(modules[layer["name"]], ROLES.get(role, role), None)
                if parameter is not None:
                    # nn.Linear keeps (outputs, inputs); convolutions are canonical as they are.
                    yield "%s.%s" % (layer["name"], role), parameter, layer["kind"] == "dense" and role == "weight"

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

    def load(self, images, labels, order):
        self.images, self.labels = self._examples(images, labels)
        self.order = torch.from_numpy(np.array(order, dtype=np.int64)).to(self.device)
        self.model.train()

    def _examples(self, images, labels):
        images = torch.from_numpy(np.array(images)).to(device=self.device, dtype=self.dtype)
        return images, torch.from_numpy(np.array(labels, dtype=np.int64)).to(self.device)

    def step(self, number):
        index = self.order[number]
        self.optimizer.zero_grad()
        loss = F.cross_entropy(self.forward(self.images[index]), self.labels[index])
        loss.backward()
        self.optimizer.step()
        return loss.detach()

    def evaluate(self, images, labels, batch_size):
        self.model.eval()
        images, labels = self._examples(images, labels)
        correct, total = 0, 0.0
        with torch.no_grad():
            for x, y in zip(images.split(batch_size), labels.split(batch_size)):
                logits = self.forward(x)
                correct += int((logits.argmax(1) == y).sum())
                total += float(F.cross_entropy(logits, y, reduction="sum"))
        self.model.train()
        return correct, total / len(labels)


def _optimizer(model, settings):
    if settings["kind"] != "sgd":
        raise RequestError("unsupported", "the PyTorch builder has no optimiser %r" % settings["kind"])
    return torch.optim.SGD(
        model.parameters(),
        lr=settings["learning_rate"],
        momentum=settings["momentum"],
        nesterov=settings["nesterov"],
        weight_decay=settings["weight_decay"],
    )
