"""Single operators in JAX, each pass a compiled function; XLA drops what a gradient does not need.

Images are channels last, as in the networks.
"""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np

from dlworker.operators import Passes, cells
from dlworker.xla_flags import round_products


def _gemm(operator):
    def compute(data, weights):
        weights = weights.T if operator["transposes_weights"] else weights
        return weights @ (data.T if operator["transposes_data"] else data)

    return compute


def _convolution(operator):
    padding = [(size, size) for size in operator["padding"]]

    def compute(data, weights):
        return jax.lax.conv_general_dilated(
            data, weights, operator["stride"], padding, dimension_numbers=("NHWC", "HWIO", "NHWC")
        )

    return compute


def _recurrent(operator):
    cell = CELLS[operator["cell"]]

    def compute(data, weights, recurrent):
        def step(carry, inputs):
            carry = cell(inputs, carry[0] @ recurrent.T, carry)
            return carry, carry[0]

        first = jnp.zeros(data.shape[1:], data.dtype)
        # The product with all inputs at once, as libraries of recurrent layers compute it.
        return jax.lax.scan(step, (first, first), data @ weights.T)[1]

    return compute


CELLS = cells(jnp.tanh, jax.nn.sigmoid, partial(jnp.split, axis=1))
OPERATORS = {"gemm": _gemm, "convolution": _convolution, "recurrent": _recurrent}


def wait(results):
    """Wait until all results are computed: calls return at once."""
    jax.block_until_ready(results)


class Operator(Passes):
    """The arrays of an operator on a device, and its passes."""

    def __init__(self, operator, arrays, device):
        super().__init__(operator)
        platform, _, number = device.partition(":")
        self.device = jax.devices(platform)[int(number or 0)]
        if device != "cpu":
            round_products(jax, {"precision": "float32"})
        native = {name: np.ascontiguousarray(self._channels_last(name, array)) for name, array in arrays.items()}
        self.arrays = jax.device_put(native, self.device)
        self.gradient, self.compute = self.arrays.pop("gradient"), OPERATORS[operator["kind"]](operator)

    def _forward(self):
        compiled = jax.jit(lambda arrays: (self.compute(**arrays),))
        return lambda: compiled(self.arrays)

    def _backward(self, name, wanted):
        def gradients(arrays, gradient):
            fixed = {part: array for part, array in arrays.items() if part not in wanted}

            def compute(*given):
                return self.compute(**fixed, **dict(zip(wanted, given)))

            output, back = jax.vjp(compute, *[arrays[part] for part in wanted])
            return ((output,) if name == "forward_backward" else ()) + back(gradient)

        compiled = jax.jit(gradients)
        return lambda: compiled(self.arrays, self.gradient)

    def computes_on(self):
        return "cpu" if self.device.platform == "cpu" else "gpu", self.device.device_kind

    def read(self, names, results):
        return [self._canonical(name, np.array(result)) for name, result in zip(names, results)]
