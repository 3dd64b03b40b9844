"""Single operators in Chainer; a backward pass computes only the gradients that are asked for.

Recurrent functions take lists: an array for each step, and one for each gate.
"""

import chainer
import chainer.functions as F  # noqa: N812 - the names they have in Chainer's own documentation
import numpy as np
from chainer.backends import cuda

from dlworker.frameworks.chainer.device import device_of, name_of
from dlworker.operators import Passes

HOST = chainer.get_device("@numpy")
LAYERS = {"rnn": F.n_step_rnn, "lstm": F.n_step_lstm, "gru": F.n_step_gru}
SETTINGS = {"rnn": {"activation": "tanh"}}


def _gemm(operator, data, weights):
    return [F.matmul(*weights, *data, operator["transposes_weights"], operator["transposes_data"])]


def _convolution(operator, data, weights):
    return [F.convolution_2d(*data, *weights, None, tuple(operator["stride"]), tuple(operator["padding"]))]


def _recurrent(operator, data, weights, recurrent):
    xp, units, cell = data[0].xp, operator["units"], operator["cell"]
    first = xp.zeros((1, operator["batch"], units), "f")
    states = (first, first) if cell == "lstm" else (first,)
    gates = weights + recurrent
    biases = [xp.zeros(units, "f")] * len(gates)
    return LAYERS[cell](1, 0.0, *states, [gates], [biases], data, **SETTINGS.get(cell, {}))[-1]


OPERATORS = {"gemm": _gemm, "convolution": _convolution, "recurrent": _recurrent}


def wait(results):
    """Wait for a GPU; NumPy has computed results when a call returns."""
    if isinstance(results[0].array, cuda.ndarray):
        cuda.Stream.null.synchronize()


class Operator(Passes):
    """The arrays of an operator on a device as lists of variables, and its passes."""

    # They need no output again: the graph has it.
    OF_RECURRENT = "backward"

    def __init__(self, operator, arrays, device):
        super().__init__(operator)
        self.device = device_of(device)
        self.device.use()
        parts = {name: self._divided(name, array) for name, array in arrays.items()}
        self.parts = {name: [self.device.send(np.array(part)) for part in made] for name, made in parts.items()}
        self.gradient = [chainer.Variable(part) for part in self.parts.pop("gradient")]

    def _divided(self, name, array):
        """An array as one for each step or for each gate, if the layer is recurrent."""
        if self.operator["kind"] != "recurrent":
            return [array]
        if name in ("weights", "recurrent"):
            return np.split(array, len(array) // self.operator["units"])
        return list(array)

    def _joined(self, name, parts):
        if len(parts) == 1 and self.operator["kind"] != "recurrent":
            return parts[0]
        return np.concatenate(parts) if name in ("weights", "recurrent") else np.stack(parts)

    def _compute(self, given):
        return OPERATORS[self.operator["kind"]](self.operator, **given)

    def _variables(self, wanted):
        return {
            name: [chainer.Variable(part, requires_grad=name in wanted) for part in parts]
            for name, parts in self.parts.items()
        }

    def _forward(self):
        given = self._variables(())

        def compute():
            with chainer.no_backprop_mode():
                return self._compute(given)

        return compute

    def _backward(self, _, wanted):
        given = self._variables(wanted)
        outputs, by = list(self._compute(given)), [variable for name in wanted for variable in given[name]]
        return lambda: chainer.grad(outputs, by, self.gradient)

    def computes_on(self):
        name = name_of(self.device)
        return ("gpu", name) if name else ("cpu", "")

    def read(self, names, results):
        arrays = [HOST.send(result.array) for result in results]
        counts = [len(self.parts.get(name, self.gradient)) for name in names]
        ends = np.cumsum(counts)
        return [
            np.array(self._joined(name, arrays[end - count : end])) for name, count, end in zip(names, counts, ends)
        ]
