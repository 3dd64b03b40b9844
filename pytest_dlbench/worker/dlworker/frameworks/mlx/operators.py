"""Single operators in MLX, each pass a compiled function, which computes only what its results need.

Images are channels last, as in the networks.
"""

from functools import partial

import mlx.core as mx
import numpy as np

from dlworker.frameworks.mlx import device_of, is_processor
from dlworker.operators import Passes, cells

CHANNELS_LAST, CHANNELS_FIRST = (0, 2, 3, 1), (0, 3, 1, 2)


def _gemm(operator, data, weights):
    weights = weights.T if operator["transposes_weights"] else weights
    return weights @ (data.T if operator["transposes_data"] else data)


def _convolution(operator, data, weights):
    return mx.conv2d(data, weights, tuple(operator["stride"]), tuple(operator["padding"]))


def _recurrent(operator, data, weights, recurrent):
    cell = CELLS[operator["cell"]]
    carry = (mx.zeros(data.shape[1:]),) * 2
    outputs = []
    # The product with all inputs at once, as MLX's own layers compute it.
    for inputs in data @ weights.T:
        carry = cell(inputs, carry[0] @ recurrent.T, carry)
        outputs.append(carry[0])
    return mx.stack(outputs)


CELLS = cells(mx.tanh, mx.sigmoid, partial(mx.split, axis=1))
OPERATORS = {"gemm": _gemm, "convolution": _convolution, "recurrent": _recurrent}


def wait(results):
    """Compute the results: calls only describe them."""
    mx.eval(results)


class Operator(Passes):
    """The arrays of an operator on a device, and its passes."""

    def __init__(self, operator, arrays, device):
        super().__init__(operator)
        mx.set_default_device(device_of(device))
        layout = CHANNELS_LAST if self.is_image else None
        native = {name: array.transpose(layout) if layout else array for name, array in arrays.items()}
        self.arrays = {name: mx.array(np.ascontiguousarray(array)) for name, array in native.items()}
        mx.eval(self.arrays)
        self.gradient, self.compute = self.arrays.pop("gradient"), partial(OPERATORS[operator["kind"]], operator)

    def _forward(self):
        compiled = mx.compile(lambda arrays: [self.compute(**arrays)])
        return lambda: compiled(self.arrays)

    def _backward(self, name, wanted):
        def gradients(arrays, gradient):
            def compute(*given):
                return self.compute(**dict(arrays, **dict(zip(wanted, given))))

            outputs, found = mx.vjp(compute, [arrays[part] for part in wanted], [gradient])
            return (outputs if name == "forward_backward" else []) + found

        compiled = mx.compile(gradients)
        return lambda: compiled(self.arrays, self.gradient)

    def computes_on(self):
        device = mx.default_device()
        return "cpu" if is_processor(device) else "gpu", str(mx.device_info(device).get("device_name", device))

    def read(self, names, results):
        arrays = [np.array(result) for result in results]
        return [array.transpose(CHANNELS_FIRST) for array in arrays] if self.is_image else arrays
