"""Single operators in MXNet, each a bound symbol; it computes only the gradients that it is bound for.

Images are channels first, as in the networks.
"""

from functools import partial

import mxnet as mx
import numpy as np
from mxnet import nd

from dlworker.frameworks.mxnet import context_of
from dlworker.operators import Passes

CELLS = {"rnn": "rnn_tanh", "lstm": "lstm", "gru": "gru"}


def _gemm(operator, data, weights):
    transposes = {"transpose_a": operator["transposes_weights"], "transpose_b": operator["transposes_data"]}
    return mx.sym.dot(weights, data, **{name: bool(value) for name, value in transposes.items()})


def _convolution(operator, data, weights):
    settings = {"kernel": operator["kernel"], "stride": operator["stride"], "pad": operator["padding"]}
    settings = {name: tuple(value) for name, value in settings.items()}
    return mx.sym.Convolution(data, weights, num_filter=operator["filters"], no_bias=True, **settings)


def _recurrent(operator, data, weights):
    cell, units = operator["cell"], operator["units"]
    first = mx.sym.zeros((1, operator["batch"], units))
    states = {"state": first, "state_cell": first} if cell == "lstm" else {"state": first}
    return mx.sym.RNN(data, weights, state_size=units, num_layers=1, mode=CELLS[cell], **states)


OPERATORS = {"gemm": _gemm, "convolution": _convolution, "recurrent": _recurrent}


def wait(results):
    """Wait until all results are computed: calls return at once."""
    for result in results:
        result.wait_to_read()


class Operator(Passes):
    """The arrays of an operator in a context, and its passes."""

    # They need no output again: the bound symbol keeps what the backward pass needs.
    OF_RECURRENT = "backward"

    def __init__(self, operator, arrays, device):
        super().__init__(operator)
        self.context, self.shapes = context_of(device), {name: array.shape for name, array in arrays.items()}
        if "recurrent" in arrays:
            # The operator has one array for all weights and both biases, which are zeros.
            own = [arrays["weights"].ravel(), arrays.pop("recurrent").ravel()]
            arrays["weights"] = np.concatenate(own + [np.zeros(2 * len(arrays["weights"]), "float32")])
        self.arrays = {name: nd.array(array, ctx=self.context) for name, array in arrays.items()}
        self.gradient = self.arrays.pop("gradient")

    def _bound(self, wanted):
        symbol = OPERATORS[self.operator["kind"]](self.operator, mx.sym.var("data"), mx.sym.var("weights"))
        found = {name: nd.zeros(self.arrays[name].shape, ctx=self.context) for name in wanted}
        needs = {name: "write" if name in wanted else "null" for name in self.arrays}
        return symbol.bind(self.context, self.arrays, args_grad=found, grad_req=needs), found

    def _forward(self):
        executor, _ = self._bound(())
        return partial(executor.forward, is_train=False)

    def _backward(self, _, wanted):
        wanted = [name for name in wanted if name in self.arrays]
        executor, found = self._bound(wanted)
        executor.forward(is_train=True)

        def compute():
            executor.backward(self.gradient)
            return [found[name] for name in wanted]

        return compute

    def computes_on(self):
        return self.context.device_type, str(self.context)

    def read(self, names, results):
        arrays = [result.asnumpy() for result in results]
        return self._divided(arrays) if "recurrent" in names else arrays

    def _divided(self, arrays):
        """The array of all weights as its parts, without the biases."""
        size, shape = int(np.prod(self.shapes["weights"])), self.shapes["weights"]
        return [arrays[0], arrays[1][:size].reshape(shape), arrays[1][size : 2 * size].reshape(shape)]
