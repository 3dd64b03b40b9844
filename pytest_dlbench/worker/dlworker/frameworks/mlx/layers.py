"""Every kind of layer as MLX layers, written here where MLX lacks them, and their graph. Images are channels last.

Layers that lose too much precision in 16 bits compute in float32 and return the type of their input.
"""

import math
from functools import partial

import mlx.core as mx
from mlx import nn

from dlworker.graph import is_chain, run, wired


class Conv2dUneven(nn.Conv2d):
    """A convolution with asymmetric padding, which MLX's operator supports but its layer does not."""

    def __call__(self, x):
        (top, bottom), (left, right) = self.padding
        y = mx.conv_general(x, self.weight, self.stride, ([top, left], [bottom, right]), groups=self.groups)
        return y + self.bias if "bias" in self else y


class BatchNorm(nn.BatchNorm):
    """MLX's own, with statistics in float32."""

    def __call__(self, x):
        return super().__call__(x.astype(mx.float32)).astype(x.dtype)


class LayerNorm(nn.LayerNorm):
    """MLX's own, with a scale and a shift in float32."""

    def __call__(self, x):
        return super().__call__(x.astype(mx.float32)).astype(x.dtype)


class Attention(nn.Module):
    """Heads of queries, keys and values that are next to each other, by MLX's function.

    It is fused on GPUs when only applied, and otherwise computes two products.
    """

    def __init__(self, layer):
        super().__init__()
        self.heads, self.causal = layer["heads"], layer["causal"]

    def __call__(self, x, lengths=None):
        batch, steps, width = x.shape
        query, key, value = x.reshape(batch, steps, 3, self.heads, -1).transpose(2, 0, 3, 1, 4)
        mask = "causal" if self.causal else None
        if lengths is not None:
            mask = self._mask(lengths, steps)
        scale = query.shape[-1] ** -0.5
        heads = mx.fast.scaled_dot_product_attention(query, key, value, scale=scale, mask=mask)
        return heads.transpose(0, 2, 1, 3).reshape(batch, steps, width // 3)

    def _mask(self, lengths, steps):
        """True where a step may attend to another."""
        places = mx.arange(steps)
        mask = (places < lengths[:, None])[:, None, None]
        return mask & (places <= places[:, None]) if self.causal else mask

    def _extra_repr(self):
        return "heads=%d, causal=%s, mx.fast.scaled_dot_product_attention" % (self.heads, self.causal)


class Positions(nn.Module):
    """Adds a trained vector to each step. The gradients of a vector are summed in float32."""

    def __init__(self, layer):
        super().__init__()
        self.weight = mx.random.normal(layer["input"], scale=0.02)

    def __call__(self, x):
        return (x + self.weight).astype(x.dtype)


class LogSoftmax(nn.LogSoftmax):
    """MLX's own in float32: MLX sums the exponentials in the type of the input."""

    def __call__(self, x):
        return super().__call__(x.astype(mx.float32)).astype(x.dtype)


class Embedding(nn.Embedding):
    """MLX's own, with rows rounded after the lookup: the gradients of a token are summed in the type of its row."""

    def __init__(self, vocabulary, size, dtype):
        super().__init__(vocabulary, size)
        self.dtype = dtype

    def __call__(self, x):
        return super().__call__(x).astype(self.dtype)


class Padded(nn.Module):
    """A pooling layer after padding that may be asymmetric."""

    def __init__(self, pool, padding, value):
        super().__init__()
        self.pool, self.padding, self.value = pool, padding, value

    def __call__(self, x):
        return self.pool(mx.pad(x, [(0, 0), *self.padding, (0, 0)], constant_values=self.value))


class AvgPoolInside(Padded):
    """Average pooling that excludes the padding, which MLX's own includes."""

    def __init__(self, pool, padding):
        super().__init__(pool, padding, 0)

    def __call__(self, x):
        return super().__call__(x) / super().__call__(mx.ones_like(x[:1, :, :, :1]))


class LocalResponseNorm(nn.Module):
    """Divides each value by a power of the sum of squares over the neighbouring channels, with zeros past the ends.

    MLX has no such layer.
    """

    def __init__(self, layer):
        super().__init__()
        self.size, self.beta, self.k = layer["size"], layer["beta"], layer["k"]
        self.share = layer["alpha"] / layer["size"]

    def __call__(self, x):
        channels, beyond = x.shape[-1], self.size // 2
        squares = mx.pad(mx.square(x.astype(mx.float32)), [(0, 0), (0, 0), (0, 0), (beyond, beyond)])
        sums = sum(squares[..., first : first + channels] for first in range(self.size))
        return (x / (self.k + self.share * sums) ** self.beta).astype(x.dtype)


class GRU(nn.Module):
    """nn.GRU with a recurrent bias for every gate; MLX's own has one for the new state only."""

    def __init__(self, inputs, units):
        super().__init__()
        scale = 1.0 / math.sqrt(units)
        self.Wx = mx.random.uniform(-scale, scale, (3 * units, inputs))
        self.Wh = mx.random.uniform(-scale, scale, (3 * units, units))
        self.b = mx.random.uniform(-scale, scale, (3 * units,))
        self.bh = mx.random.uniform(-scale, scale, (3 * units,))

    def __call__(self, x, hidden=None):
        if hidden is None:
            hidden = mx.zeros((len(x), self.Wh.shape[1]), x.dtype)
        x = mx.addmm(self.b, x, self.Wx.T)
        all_hidden = []
        for step in range(x.shape[1]):
            x_r, x_z, x_n = mx.split(x[:, step], 3, axis=-1)
            h_r, h_z, h_n = mx.split(mx.addmm(self.bh, hidden, self.Wh.T), 3, axis=-1)
            z = mx.sigmoid(x_z + h_z)
            n = mx.tanh(x_n + mx.sigmoid(x_r + h_r) * h_n)
            hidden = (1 - z) * n + z * hidden
            all_hidden.append(hidden)
        return mx.stack(all_hidden, axis=1)


class Recurrent(nn.Module):
    """nn.LSTM or a GRU; returns all outputs or the last one, and the final state as a tuple.

    Both return their states after every step. A shorter sequence runs on through its padding, which changes nothing:
    the state at its own end is selected.
    """

    def __init__(self, layer):
        super().__init__()
        kind = nn.LSTM if layer["kind"] == "lstm" else GRU
        self.rnn = kind(layer["input"][1], layer["units"])
        self.gives_sequence = layer["sequence"]

    def __call__(self, x, lengths=None, start=()):
        states = self.rnn(x, *start)
        states = states if isinstance(states, tuple) else (states,)
        last = (slice(None), -1) if lengths is None else (mx.arange(len(x)), lengths - 1)
        ends = tuple(state[last] for state in states)
        return (states[0] if self.gives_sequence else ends[0]), ends


class Graph(nn.Module):
    """A network whose layers do not form a chain."""

    def __init__(self, layers, built):
        super().__init__()
        self.layers = built
        # Functions, because MLX would search a list or a dictionary for parameters.
        self.run = partial(run, wired(layers))
        self.find = {layer["name"]: module for layer, module in zip(layers, built)}.get

    def __call__(self, x):
        lengths, states = {}, {}

        def call(layer, values):
            name, kind, module = layer["name"], layer["kind"], self.find(layer["name"])
            if kind == "embedding" and layer["padding"] is not None:
                lengths[name] = (values[0] != layer["padding"]).sum(1)
            if kind in ("lstm", "gru"):
                start = states.get(layer.get("start"), ())
                values[0], states[name] = module(values[0], lengths.get(layer.get("lengths")), start)
                return values[0]
            if kind == "attention":
                return module(values[0], lengths.get(layer.get("lengths")))
            if kind == "tied_dense":
                return module(values[0], self.find(layer["embedding"]).weight)
            return module(*values)

        return self.run(x, call)


def conv2d(layer):
    (top, bottom), (left, right) = layer["padding"]
    even = top == bottom and left == right
    padding = (top, left) if even else layer["padding"]
    sizes = (layer["input"][0], layer["output"][0], tuple(layer["kernel"]))
    settings = {"stride": tuple(layer["stride"]), "groups": layer.get("groups", 1), "bias": layer["bias"]}
    kind = nn.Conv2d if even else Conv2dUneven
    return kind(*sizes, padding=padding, **settings)


def max_pool(layer):
    pool = nn.MaxPool2d(tuple(layer["window"]), tuple(layer["stride"]))
    return Padded(pool, layer["padding"], -float("inf")) if _is_padded(layer) else pool


def avg_pool(layer):
    pool = nn.AvgPool2d(tuple(layer["window"]), tuple(layer["stride"]))
    return AvgPoolInside(pool, layer["padding"]) if _is_padded(layer) else pool


def _is_padded(layer):
    return any(side for sides in layer["padding"] for side in sides)


def batch_norm(layer):
    # MLX's momentum weights the new value, the neutral decay the old one.
    return BatchNorm(layer["input"][0], eps=layer["epsilon"], momentum=1 - layer["decay"])


def pad_channels(layer):
    return partial(mx.pad, pad_width=[(0, 0), (0, 0), (0, 0), (0, layer["added"])])


LAYERS = {
    "conv2d": conv2d,
    "grouped_conv2d": conv2d,
    "max_pool": max_pool,
    "avg_pool": avg_pool,
    "batch_norm": batch_norm,
    "local_response_norm": LocalResponseNorm,
    # On a sequence, nn.Linear applies to the features of each step.
    "dense": lambda layer: nn.Linear(layer["input"][-1], layer["output"][-1], bias=layer["bias"]),
    "flatten": lambda layer: partial(mx.flatten, start_axis=1),
    "dropout": lambda layer: nn.Dropout(layer["rate"]),
    "relu": lambda layer: nn.ReLU(),
    "gelu": lambda layer: nn.GELU(),
    "gelu_tanh": lambda layer: nn.GELU(approx="tanh"),
    "layer_norm": lambda layer: LayerNorm(layer["input"][-1], eps=layer["epsilon"]),
    "attention": Attention,
    "positions": Positions,
    # The embedding's own weights have 32 bits.
    "tied_dense": lambda layer: lambda x, weight: x @ weight.astype(x.dtype).T,
    "first_step": lambda layer: lambda x: x[:, 0],
    "tanh": lambda layer: nn.Tanh(),
    "sigmoid": lambda layer: nn.Sigmoid(),
    "log_softmax": lambda layer: LogSoftmax(),
    "pad_channels": pad_channels,
    "add": lambda layer: lambda *values: sum(values[1:], values[0]),
    # Concatenates channels of images, features of vectors and sequences.
    "concat": lambda layer: lambda *values: mx.concatenate(values, axis=-1),
    "cut": lambda layer: lambda tokens: tokens[:, layer["first"] : layer["last"]],
    "lstm": Recurrent,
    "gru": Recurrent,
}


# With their output type, which their input does not determine.
TYPED = {"embedding": lambda layer, dtype: Embedding(layer["vocabulary"], layer["output"][-1], dtype)}
KINDS = {*LAYERS, *TYPED}


def _flatten_channels_first(layer):
    # After branches, converting weights would require knowing which images each vector comes from.
    return lambda x: mx.flatten(mx.moveaxis(x, -1, 1) if x.ndim == 4 else x, start_axis=1)


def build(network, dtype):
    """The neutral network as one nn.Sequential, or as a Graph, computing in ``dtype``."""
    layers = network["layers"]
    known = dict(LAYERS, **{kind: partial(make, dtype=dtype) for kind, make in TYPED.items()})
    if is_chain(layers) and not any(layer["kind"] in ("lstm", "gru") for layer in layers):
        return nn.Sequential(*(known[layer["kind"]](layer) for layer in layers))
    known["flatten"] = _flatten_channels_first
    return Graph(layers, [known[layer["kind"]](layer) for layer in layers])
