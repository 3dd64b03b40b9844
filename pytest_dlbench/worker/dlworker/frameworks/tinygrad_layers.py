"""Layers that tinygrad has not."""

import math

from tinygrad import Tensor, nn


class GRUCell:
    """A cell in the manner of nn.LSTMCell, which is the only one that tinygrad has."""

    def __init__(self, inputs, units):
        bound = 1.0 / math.sqrt(units)
        self.weight_ih = Tensor.uniform(3 * units, inputs, low=-bound, high=bound)
        self.weight_hh = Tensor.uniform(3 * units, units, low=-bound, high=bound)
        self.bias_ih, self.bias_hh = Tensor.zeros(3 * units), Tensor.zeros(3 * units)

    def __call__(self, x, state=None):
        h = state[0] if state else Tensor.zeros(x.shape[0], self.weight_hh.shape[1], dtype=x.dtype, buffer=False)
        x_r, x_z, x_n = x.linear(self.weight_ih.T, self.bias_ih).chunk(3, dim=1)
        h_r, h_z, h_n = h.linear(self.weight_hh.T, self.bias_hh).chunk(3, dim=1)
        r, z = (x_r + h_r).sigmoid(), (x_z + h_z).sigmoid()
        n = (x_n + r * h_n).tanh()
        return ((1 - z) * n + z * h,)


class Recurrent:
    """A cell at every step of a sequence; gives all outputs or the last, and the state it ends in, as a tuple.

    A sequence that has ended goes on through its padding, which changes nothing: its own end is picked among the
    states. nn.LSTMCell has two biases where one would do, and can be without.
    """

    def __init__(self, layer):
        cell = nn.LSTMCell if layer["kind"] == "lstm" else GRUCell
        self.cell = cell(layer["input"][1], layer["units"])
        if layer["kind"] == "lstm":
            self.cell.bias_hh = None
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
