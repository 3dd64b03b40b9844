"""Every kind of layer in tinygrad, written here where it lacks them, and a network's output.

Weights are rounded to the type of their input.
"""

import math
from functools import partial

from tinygrad import Tensor, nn

from dlworker.frameworks.tinygrad.precision import rounded, widened
from dlworker.graph import is_chain, run, wired


class Conv2d(nn.Conv2d):
    def __call__(self, x):
        weight, bias = rounded(self.weight, x), rounded(self.bias, x)
        return x.conv2d(weight, bias, self.groups, self.stride, self.dilation, self.padding)


class Linear(nn.Linear):
    def __call__(self, x):
        return x.linear(rounded(self.weight, x).transpose(), rounded(self.bias, x))


class BatchNorm(nn.BatchNorm):
    def __call__(self, x):
        return widened(super().__call__)(x)


class LayerNorm(nn.LayerNorm):
    def __call__(self, x):
        return widened(super().__call__)(x)


class Attention:
    """Heads of queries, keys and values that are next to each other, by tinygrad's own: two products, not fused."""

    def __init__(self, layer):
        self.heads, self.causal = layer["heads"], layer["causal"]

    def __call__(self, x, lengths=None):
        batch, steps, width = x.shape
        query, key, value = x.reshape(batch, steps, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        mask = None if lengths is None else self._mask(lengths, steps)
        heads = query.scaled_dot_product_attention(key, value, mask, is_causal=self.causal and mask is None)
        return heads.transpose(1, 2).reshape(batch, steps, width // 3)

    def _mask(self, lengths, steps):
        """True where a step may attend to another; tinygrad takes a mask or is causal, but not both."""
        places = Tensor.arange(steps)
        mask = (places < lengths.unsqueeze(1)).reshape(-1, 1, 1, steps)
        return mask & (places <= places.unsqueeze(1)) if self.causal else mask


class Positions:
    """Adds a trained vector to each step. The gradients of a vector are summed in float32."""

    def __init__(self, layer):
        self.weight = Tensor.normal(*layer["input"], std=0.02)

    def __call__(self, x):
        return (x + self.weight).cast(x.dtype)


class Embedding(nn.Embedding):
    """tinygrad's own, with rows rounded after the lookup."""

    def __init__(self, vocabulary, size, dtype):
        super().__init__(vocabulary, size)
        self.dtype = dtype

    def __call__(self, tokens):
        return super().__call__(tokens).cast(self.dtype)


class LSTMCell(nn.LSTMCell):
    """tinygrad's own with one bias per gate instead of two."""

    def __init__(self, inputs, units):
        super().__init__(inputs, units)
        self.bias_hh = None

    def __call__(self, x, state=None):
        h, c = state or [Tensor.zeros(x.shape[0], self.weight_hh.shape[1], dtype=x.dtype, buffer=False)] * 2
        gates = x.linear(rounded(self.weight_ih, x).T, rounded(self.bias_ih, x)) + h.linear(
            rounded(self.weight_hh, h).T
        )
        i, f, g, o = gates.chunk(4, dim=1)
        c = f.sigmoid() * c + i.sigmoid() * g.tanh()
        return o.sigmoid() * c.tanh(), c


class GRUCell:
    """A GRU cell in the style of nn.LSTMCell, the only cell that tinygrad has."""

    def __init__(self, inputs, units):
        bound = 1.0 / math.sqrt(units)
        self.weight_ih = Tensor.uniform(3 * units, inputs, low=-bound, high=bound)
        self.weight_hh = Tensor.uniform(3 * units, units, low=-bound, high=bound)
        self.bias_ih, self.bias_hh = Tensor.zeros(3 * units), Tensor.zeros(3 * units)

    def __call__(self, x, state=None):
        h = state[0] if state else Tensor.zeros(x.shape[0], self.weight_hh.shape[1], dtype=x.dtype, buffer=False)
        x_r, x_z, x_n = x.linear(rounded(self.weight_ih, x).T, rounded(self.bias_ih, x)).chunk(3, dim=1)
        h_r, h_z, h_n = h.linear(rounded(self.weight_hh, h).T, rounded(self.bias_hh, h)).chunk(3, dim=1)
        r, z = (x_r + h_r).sigmoid(), (x_z + h_z).sigmoid()
        n = (x_n + r * h_n).tanh()
        return ((1 - z) * n + z * h,)


class Recurrent:
    """A cell at every step of a sequence; returns all outputs or the last one, and the final state as a tuple.

    A shorter sequence runs on through its padding, which changes nothing: the state at its own end is selected.
    """

    def __init__(self, layer):
        cell = LSTMCell if layer["kind"] == "lstm" else GRUCell
        self.cell = cell(layer["input"][1], layer["units"])
        self.gives_sequence = layer["sequence"]

    def __call__(self, x, lengths=None, start=None):
        state, states = start, []
        for step in range(x.shape[1]):
            state = self.cell(x[:, step], state)
            states.append(state)
        if lengths is not None:
            state = tuple(_pick(part, lengths - 1) for part in zip(*states))
        if self.gives_sequence:
            return Tensor.stack(*(one[0] for one in states), dim=1), state
        return state[0], state


def _pick(values, index):
    """For each example, the value at its index in a list of values."""
    wanted = Tensor.arange(len(values)) == index.unsqueeze(1)
    return wanted.unsqueeze(2).where(Tensor.stack(*values, dim=1), 0).sum(1)


def local_response_norm(layer):
    size, beyond = layer["size"], layer["size"] // 2

    def normalise(x):
        squares = x.square().pad((None, (beyond, beyond), None, None))
        sums = sum(squares[:, first : first + x.shape[1]] for first in range(size))
        return x / (layer["k"] + layer["alpha"] / size * sums) ** layer["beta"]

    return widened(normalise)


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
    # tinygrad's momentum weights the new value, the neutral decay the old one.
    return BatchNorm(layer["input"][0], eps=layer["epsilon"], momentum=1 - layer["decay"])


def _sides(padding):
    """Left, right, top, bottom: tinygrad's operators support asymmetric padding."""
    (top, bottom), (left, right) = padding
    return (left, right, top, bottom)


# Every layer is a callable of one or several tensors.
LAYERS = {
    "conv2d": conv2d,
    "grouped_conv2d": conv2d,
    "max_pool": max_pool,
    "avg_pool": avg_pool,
    "batch_norm": batch_norm,
    "local_response_norm": local_response_norm,
    # On a sequence, it applies to the features of each step.
    "dense": lambda layer: Linear(layer["input"][-1], layer["output"][-1], bias=layer["bias"]),
    "flatten": lambda layer: lambda x: x.flatten(1),
    "dropout": lambda layer: lambda x: x.dropout(layer["rate"]),
    "relu": lambda layer: Tensor.relu,
    "gelu": lambda layer: widened(partial(Tensor.gelu, approximate="none")),
    "gelu_tanh": lambda layer: widened(Tensor.gelu),
    "layer_norm": lambda layer: LayerNorm(layer["input"][-1], eps=layer["epsilon"]),
    "attention": Attention,
    "positions": Positions,
    "tied_dense": lambda layer: lambda x, weight: x @ rounded(weight, x).transpose(),
    "first_step": lambda layer: lambda x: x[:, 0],
    "tanh": lambda layer: Tensor.tanh,
    "sigmoid": lambda layer: Tensor.sigmoid,
    "log_softmax": lambda layer: widened(Tensor.log_softmax),
    "pad_channels": lambda layer: lambda x: x.pad((None, (0, layer["added"]), None, None)),
    "add": lambda layer: lambda *values: sum(values[1:], values[0]),
    # Concatenates channels of images, features of vectors and sequences.
    "concat": lambda layer: lambda *values: Tensor.cat(*values, dim=1 if values[0].ndim == 4 else -1),
    "cut": lambda layer: lambda tokens: tokens[:, layer["first"] : layer["last"]],
    "lstm": Recurrent,
    "gru": Recurrent,
}


# With their output type, which their input does not determine.
TYPED = {"embedding": lambda layer, dtype: Embedding(layer["vocabulary"], layer["output"][-1], dtype)}
KINDS = {*LAYERS, *TYPED}


def built(network, dtype):
    """The layers by name; ``dtype`` is the output type of embeddings."""
    known = dict(LAYERS, **{kind: partial(make, dtype=dtype) for kind, make in TYPED.items()})
    return {layer["name"]: known[layer["kind"]](layer) for layer in network["layers"]}


def logits_of(layers, model, x):
    """The network's output for a batch, in order or as the layers are wired."""
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
        if kind == "attention":
            return model[name](values[0], lengths.get(layer.get("lengths")))
        if kind == "tied_dense":
            return model[name](values[0], model[layer["embedding"]].weight)
        return model[name](*values)

    return run(wired(layers), x, call)
