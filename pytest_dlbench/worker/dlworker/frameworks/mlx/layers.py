"""Layers that MLX has not, or has with another meaning; and the graph of them. Images are channels last.

What loses too much in 16 bits computes in float32, and gives what it was given.
"""

import math
from functools import partial

import mlx.core as mx
from mlx import nn

from dlworker.graph import run, wired


class Conv2dUneven(nn.Conv2d):
    """A convolution whose padding differs between the sides, which MLX's operator can do but its layer cannot."""

    def __call__(self, x):
        (top, bottom), (left, right) = self.padding
        y = mx.conv_general(x, self.weight, self.stride, ([top, left], [bottom, right]), groups=self.groups)
        return y + self.bias if "bias" in self else y


class BatchNorm(nn.BatchNorm):
    """MLX's own, whose statistics are float32's."""

    def __call__(self, x):
        return super().__call__(x.astype(mx.float32)).astype(x.dtype)


class LogSoftmax(nn.LogSoftmax):
    """MLX's own: it adds up exponentials in the type that it is given."""

    def __call__(self, x):
        return super().__call__(x.astype(mx.float32)).astype(x.dtype)


class Embedding(nn.Embedding):
    """MLX's own, whose rows are rounded behind it: the gradients of a token are added up in the type of its row."""

    def __init__(self, vocabulary, size, dtype):
        super().__init__(vocabulary, size)
        self.dtype = dtype

    def __call__(self, x):
        return super().__call__(x).astype(self.dtype)


class Padded(nn.Module):
    """A pooling layer behind padding that may differ between the sides."""

    def __init__(self, pool, padding, value):
        super().__init__()
        self.pool, self.padding, self.value = pool, padding, value

    def __call__(self, x):
        return self.pool(mx.pad(x, [(0, 0), *self.padding, (0, 0)], constant_values=self.value))


class AvgPoolInside(Padded):
    """Average pooling that does not count the padding, as MLX's own does."""

    def __init__(self, pool, padding):
        super().__init__(pool, padding, 0)

    def __call__(self, x):
        return super().__call__(x) / super().__call__(mx.ones_like(x[:1, :, :, :1]))


class LocalResponseNorm(nn.Module):
    """Every value by a power of the squares of its neighbours in the channels around, which are zero beyond the last.

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
    """nn.GRU with a recurrent bias for every gate, where MLX's own has one for the new state only."""

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
    """nn.LSTM or a GRU; gives all outputs or the last, and the state it ends in, as a tuple.

    Both give their states after every step. A sequence that has ended goes on through its padding, which changes
    nothing: its own end is picked among them.
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
    """A network whose layers do not simply follow each other."""

    def __init__(self, layers, built):
        super().__init__()
        self.layers = built
        # Functions, not a list and a dictionary: MLX would look for parameters in those.
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
            return module(*values)

        return self.run(x, call)
