"""Links and functions for Chainer's builder that Chainer itself has not, or has for lists of sequences only."""

import chainer
import chainer.functions as F  # noqa: N812 - the names they have in Chainer's own documentation
import chainer.links as L  # noqa: N812
import numpy as np

from dlworker.frameworks.chainer.precision import Linear


def flatten(x):
    """Every example as a vector; F.flatten makes one vector of the batch."""
    return F.reshape(x, (len(x), -1))


def uneven_average_pooling(x, window, stride, sides):
    """Average pooling whose padding differs between the sides; F.average_pooling_2d counts its padding in."""
    one = np.ones((1, 1) + x.shape[2:], x.dtype)
    total, share = (F.average_pooling_2d(F.pad(values, sides, "constant"), window, stride) for values in (x, one))
    return total / F.broadcast_to(share, total.shape)


def concat(*values, axis):
    """Several values side by side; F.concat takes them as one list."""
    return F.concat(values, axis)


def cut(tokens, first, last):
    """A part of a row of tokens."""
    return tokens[:, first:last]


class StepwiseLinear(Linear):
    """Linear at every step of a sequence."""

    def forward(self, x):
        return super().forward(x, n_batch_axes=2)


class SequenceLSTM(L.LSTM):
    """L.LSTM over a batch of sequences; gives all outputs or the last, and the state it ends in.

    Sequences that end early are sorted, the longest first, as L.LSTM wants them: the batch of a step holds those that
    have not ended. (L.NStepLSTM sorts by itself, but stacks its gates' arrays anew at every step.)
    """

    def __init__(self, layer):
        super().__init__(layer["input"][1], layer["units"])
        self.gives_sequence = layer["sequence"]

    def forward(self, x, lengths=None, start=None):
        if lengths is None:
            return self._run(F.separate(x, axis=1), start)
        order = np.argsort(-lengths, kind="stable").astype(np.int32)
        steps = F.separate(F.permutate(x, order), axis=1)
        going = [values[: np.count_nonzero(lengths > number)] for number, values in enumerate(steps)]
        made, state = self._run(going, start and [F.permutate(part, order) for part in start])
        return F.permutate(made, order, inv=True), [F.permutate(part, order, inv=True) for part in state]

    def _run(self, steps, start):
        if start is not None:
            self.set_state(*start)
        step = super().forward
        outputs = [step(values) for values in steps]
        state = [self.c, self.h]
        # What it holds is the whole graph of this batch.
        self.reset_state()
        return (F.swapaxes(F.pad_sequence(outputs), 0, 1) if self.gives_sequence else state[1]), state


def interleaved(array):
    """Gates i, f, g, o side by side, as L.LSTM has them: g, i, f, o of the first unit, then of the next."""
    gates = array.reshape(array.shape[:-1] + (4, -1))[..., [2, 0, 1, 3], :]
    return gates.swapaxes(-1, -2).reshape(array.shape)


class SequenceGRU(chainer.Chain):
    """L.NStepGRU over a batch of sequences, as SequenceLSTM; L.GRU resets the state before its product."""

    def __init__(self, layer):
        super().__init__()
        self.gives_sequence = layer["sequence"]
        with self.init_scope():
            self.rnn = L.NStepGRU(1, layer["input"][1], layer["units"], 0.0)

    def forward(self, x, lengths=None, start=None):
        sequences = F.separate(x, axis=0)
        if lengths is not None:
            sequences = [sequence[:length] for sequence, length in zip(sequences, lengths)]
        state, outputs = self.rnn(start, sequences)
        return (F.pad_sequence(outputs, length=x.shape[1]) if self.gives_sequence else state[0]), state
