"""A neutral network as PyTorch modules, written here where PyTorch lacks them."""

from collections import OrderedDict

import torch
import torch.nn.functional as F  # noqa: N812 - the name it has in PyTorch's own documentation
from torch import nn

from dlworker.frameworks.pytorch.detection import Detections, RegionProposals, RoIAlign
from dlworker.graph import is_chain, run, wired


class View(nn.Module):
    """Flattening as usual before PyTorch 1.2."""

    def forward(self, x):
        return x.view(len(x), -1)


# The only thing besides those in releases.py that this file needs and PyTorch 1.0 lacks.
Flatten = getattr(nn, "Flatten", View)


class AvgPool2dUneven(nn.Module):
    """Average pooling with asymmetric padding, which nn.AvgPool2d does not support."""

    def __init__(self, window, stride, sides):
        super().__init__()
        self.window, self.stride, self.sides = window, stride, sides

    def forward(self, x):
        total = F.avg_pool2d(F.pad(x, self.sides), self.window, self.stride)
        share = F.avg_pool2d(F.pad(torch.ones_like(x[:1, :1]), self.sides), self.window, self.stride)
        return total / share


class PadChannels(nn.Module):
    """Appends channels of zeros."""

    def __init__(self, added):
        super().__init__()
        self.added = added

    def forward(self, x):
        return F.pad(x, (0, 0, 0, 0, 0, self.added))


class Concat(nn.Module):
    """Concatenates several values: channels of images, features of vectors and sequences."""

    def forward(self, *values):
        return torch.cat(values, dim=1 if values[0].dim() == 4 else -1)


class Add(nn.Module):
    """The sum of several values."""

    def forward(self, first, *others):
        for other in others:
            first = first + other
        return first


class Cut(nn.Module):
    """A slice of each row of tokens."""

    def __init__(self, first, last):
        super().__init__()
        self.first, self.last = first, last

    def forward(self, tokens):
        return tokens[:, self.first : self.last]


class Attention(nn.Module):
    """Heads of queries, keys and values that are next to each other, by PyTorch's operator, which selects a kernel.

    On a CPU that is a fused one.
    """

    def __init__(self, layer):
        super().__init__()
        self.heads, self.causal = layer["heads"], layer["causal"]

    def forward(self, x, lengths=None):
        batch, steps, width = x.shape
        query, key, value = x.view(batch, steps, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        mask = None if lengths is None else self._mask(lengths, steps)
        is_causal = self.causal and mask is None
        heads = F.scaled_dot_product_attention(query, key, value, attn_mask=mask, is_causal=is_causal)
        return heads.transpose(1, 2).reshape(batch, steps, width // 3)

    def _mask(self, lengths, steps):
        """True where a step may attend to another; the operator takes a mask or is causal, but not both."""
        places = torch.arange(steps, device=lengths.device)
        mask = (places < lengths[:, None])[:, None, None]
        return mask & (places <= places[:, None]) if self.causal else mask

    def extra_repr(self):
        return "heads=%d, causal=%s, F.scaled_dot_product_attention" % (self.heads, self.causal)


class Positions(nn.Module):
    """Adds a trained vector to each step."""

    def __init__(self, layer):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(*layer["input"]))
        # As in GPT-2 and BERT; PyTorch has no such layer.
        nn.init.normal_(self.weight, std=0.02)

    def forward(self, x):
        return x + self.weight

    def extra_repr(self):
        return "%d, %d" % tuple(self.weight.shape)


class TiedDense(nn.Module):
    """A product with the weights of an embedding, which are no parameters of this module."""

    def forward(self, x, weight):
        return F.linear(x, weight)


class FirstStep(nn.Module):
    """The features of the first step."""

    def forward(self, x):
        return x[:, 0]


class Recurrent(nn.Module):
    """nn.LSTM or nn.GRU, batch first; returns all outputs or the last one, and the final state.

    PyTorch's LSTM has two biases where one would do; the second stays at zero and is not trained.
    """

    def __init__(self, layer):
        super().__init__()
        kind = nn.LSTM if layer["kind"] == "lstm" else nn.GRU
        self.rnn = kind(layer["input"][1], layer["units"], batch_first=True)
        self.gives_sequence = layer["sequence"]
        if layer["kind"] == "lstm":
            nn.init.zeros_(self.rnn.bias_hh_l0)
            self.rnn.bias_hh_l0.requires_grad = False

    def forward(self, x, lengths=None, start=None):
        if lengths is None:
            outputs, state = self.rnn(x, start)
            return (outputs if self.gives_sequence else outputs[:, -1]), state
        # Packed sequences are sorted, longest first; PyTorch 1.0 does not sort by itself. Lengths and order are on the
        # host, where packing needs them: reading them from a GPU would wait for it.
        lengths, order = lengths.sort(descending=True)
        order, back = (pinned(part, x.device).to(x.device, non_blocking=True) for part in (order, order.argsort()))
        if start is not None:
            start = _each(start, lambda part: part[:, order])
        packed = nn.utils.rnn.pack_padded_sequence(x[order], lengths, batch_first=True)
        outputs, state = self.rnn(packed, start)
        state = _each(state, lambda part: part[:, back])
        if self.gives_sequence:
            padded, _ = nn.utils.rnn.pad_packed_sequence(outputs, batch_first=True, total_length=x.shape[1])
            return padded[back], state
        return (state[0] if isinstance(state, tuple) else state)[0], state


def pinned(array, device):
    """An array on the host in memory that a GPU can copy by itself; the array itself for another device."""
    return array.pin_memory() if device.type == "cuda" else array


def _each(state, change):
    """Apply a change to each part of a state: an LSTM's has two parts, a GRU's one."""
    return tuple(map(change, state)) if isinstance(state, tuple) else change(state)


class Graph(nn.Module):
    """A network whose layers do not form a chain; its submodules have the names of the layers."""

    def __init__(self, layers, modules):
        super().__init__()
        # Computed once: the wiring does not change from step to step.
        self.nodes = wired(layers)
        for name, module in modules.items():
            self.add_module(name, module)

    def forward(self, x, truth=None, on_host=None):
        """The last layer's output; ``on_host`` are the lengths of ``dlworker.graph``, for recurrent layers."""
        lengths, states = {}, {}

        def call(layer, values):
            name, module = layer["name"], getattr(self, layer["name"])
            if layer["kind"] == "embedding" and layer["padding"] is not None:
                lengths[name] = (values[0] != layer["padding"]).sum(1)
            if layer["kind"] in ("lstm", "gru"):
                start = states.get(layer.get("start"))
                values[0], states[name] = module(values[0], (on_host or {}).get(layer.get("lengths")), start)
                return values[0]
            if layer["kind"] == "region_proposals":
                return module(*values, truth)
            if layer["kind"] == "attention":
                return module(values[0], lengths.get(layer.get("lengths")))
            if layer["kind"] == "tied_dense":
                return module(values[0], getattr(self, layer["embedding"]).weight)
            return module(*values)

        return run(self.nodes, x, call)


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
    # PyTorch's momentum weights the new value, the neutral decay the old one.
    return [norm(layer["input"][0], eps=layer["epsilon"], momentum=1 - layer["decay"])]


LAYERS = {
    "conv2d": conv2d,
    "grouped_conv2d": conv2d,
    "max_pool": max_pool,
    "avg_pool": avg_pool,
    "batch_norm": batch_norm,
    # On a sequence, nn.Linear applies to the features of each step.
    "dense": lambda layer: [nn.Linear(layer["input"][-1], layer["output"][-1], bias=layer["bias"])],
    "flatten": lambda layer: [Flatten()],
    "dropout": lambda layer: [nn.Dropout(layer["rate"])],
    "relu": lambda layer: [nn.ReLU()],
    "gelu": lambda layer: [nn.GELU()],
    "gelu_tanh": lambda layer: [nn.GELU(approximate="tanh")],
    "layer_norm": lambda layer: [nn.LayerNorm(layer["input"][-1], eps=layer["epsilon"])],
    "attention": lambda layer: [Attention(layer)],
    "positions": lambda layer: [Positions(layer)],
    "tied_dense": lambda layer: [TiedDense()],
    "first_step": lambda layer: [FirstStep()],
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
    "region_proposals": lambda layer: [RegionProposals(layer)],
    "roi_align": lambda layer: [RoIAlign(layer)],
    "detections": lambda layer: [Detections()],
    "lstm": lambda layer: [Recurrent(layer)],
    "gru": lambda layer: [Recurrent(layer)],
}


def _is_even(padding):
    return all(first == last for first, last in padding)


def _sides(padding):
    (top, bottom), (left, right) = padding
    return (left, right, top, bottom)


def _padding(layer, value):
    """The padding that the operator does itself, and the padding modules that must precede it."""
    if _is_even(layer["padding"]):
        return [first for first, _ in layer["padding"]], []
    return 0, [nn.ConstantPad2d(_sides(layer["padding"]), value)]


def build(network):
    """The neutral network as one nn.Sequential, or as a Graph; each layer's module has the layer's name."""
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
