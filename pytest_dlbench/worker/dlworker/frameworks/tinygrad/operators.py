"""Single operators in tinygrad, each pass captured by TinyJit; it computes only what its results need.

Images are channels first, as in the networks.
"""

import numpy as np
from tinygrad import Device, Tensor

from dlworker.frameworks.tinygrad import captured, choose, kind_and_name
from dlworker.operators import Passes, cells


def _gemm(operator, data, weights):
    weights = weights.T if operator["transposes_weights"] else weights
    return weights @ (data.T if operator["transposes_data"] else data)


def _convolution(operator, data, weights):
    rows, columns = operator["padding"]
    # Its order is left, right, top, bottom.
    return data.conv2d(weights, stride=tuple(operator["stride"]), padding=(columns, columns, rows, rows))


def _recurrent(operator, data, weights, recurrent):
    cell, inputs = CELLS[operator["cell"]], data @ weights.T
    first, outputs = Tensor.zeros(*data.shape[1:], device=data.device), []
    carry = first, first
    for step in range(operator["steps"]):
        carry = cell(inputs[step], carry[0] @ recurrent.T, carry)
        outputs.append(carry[0])
    return Tensor.stack(*outputs)


CELLS = cells(Tensor.tanh, Tensor.sigmoid, lambda array, count: array.chunk(count, dim=1))
OPERATORS = {"gemm": _gemm, "convolution": _convolution, "recurrent": _recurrent}


def wait(results):
    """Wait until all results are computed: captured kernels only start."""
    Device[results[0].device].synchronize()


class Operator(Passes):
    """The tensors of an operator, and its passes."""

    def __init__(self, operator, arrays, device):
        super().__init__(operator)
        choose(device)
        self.arrays = {name: Tensor(np.array(array)).realize() for name, array in arrays.items()}
        self.gradient = self.arrays.pop("gradient")

    def _compute(self):
        return OPERATORS[self.operator["kind"]](self.operator, **self.arrays)

    def _forward(self):
        return captured(lambda: [self._compute().realize()])

    def _backward(self, name, wanted):
        def compute():
            output, by = self._compute(), [self.arrays[part] for part in wanted]
            found = output.gradient(*by, gradient=self.gradient)
            results = [output] * (name == "forward_backward") + found
            Tensor.realize(*results)
            return results

        return captured(compute)

    def computes_on(self):
        return kind_and_name()

    def read(self, names, results):
        return [result.numpy().copy() for result in results]
