"""Layers that tinygrad has not, and its own with weights that take the type of their input: there they are rounded."""

import math

from tinygrad import Tensor, nn

from dlworker.frameworks.tinygrad.precision import rounded, widened


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


class Embedding(nn.Embedding):
    """tinygrad's own, whose rows are rounded behind it."""

    def __init__(self, vocabulary, size, dtype):
        super().__init__(vocabulary, size)
        self.dtype = dtype

    def __call__(self, tokens):
        return super().__call__(tokens).cast(self.dtype)


class LSTMCell(nn.LSTMCell):
    """tinygrad's own, with one bias for each gate: it has two, and can be without the second."""

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
    """A cell in the manner of nn.LSTMCell, which is the only one that tinygrad has."""

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
    """A cell at every step of a sequence; gives all outputs or the last, and the state it ends in, as a tuple.

    A sequence that has ended goes on through its padding, which changes nothing: its own end is picked among the
    states.
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
    """Of a list of values the one that each example wants."""
    wanted = Tensor.arange(len(values)) == index.unsqueeze(1)
    return wanted.unsqueeze(2).where(Tensor.stack(*values, dim=1), 0).sum(1)


def local_response_norm(layer):
    size, beyond = layer["size"], layer["size"] // 2

    def normalise(x):
        squares = x.square().pad((None, (beyond, beyond), None, None))
        sums = sum(squares[:, first : first + x.shape[1]] for first in range(size))
        return x / (layer["k"] + layer["alpha"] / size * sums) ** layer["beta"]

    return widened(normalise)
