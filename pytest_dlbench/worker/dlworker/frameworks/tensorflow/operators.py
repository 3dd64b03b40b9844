"""Single operators in TensorFlow 2, each pass a tf.function, which computes only what its results need.

Images are channels last, as in the networks.
"""

from functools import partial

import tensorflow as tf

from dlworker.frameworks.tensorflow import kind_of, use
from dlworker.operators import Passes, cells


def _gemm(operator):
    transposes = operator["transposes_weights"], operator["transposes_data"]
    return lambda data, weights: tf.matmul(weights, data, *map(bool, transposes))


def _convolution(operator):
    stride, (rows, columns) = list(operator["stride"]), operator["padding"]
    padding = [(0, 0), (rows, rows), (columns, columns), (0, 0)]
    return lambda data, weights: tf.nn.conv2d(data, weights, stride, padding)


def _recurrent(operator):
    cell = CELLS[operator["cell"]]

    def compute(data, weights, recurrent):
        def step(carry, inputs):
            return cell(inputs, tf.matmul(carry[0], recurrent, transpose_b=True), carry)

        first = tf.zeros_like(data[0])
        # The product with all inputs at once, as libraries of recurrent layers compute it.
        return tf.scan(step, tf.einsum("sbi,oi->sbo", data, weights), (first, first))[0]

    return compute


CELLS = cells(tf.tanh, tf.sigmoid, partial(tf.split, axis=1))
OPERATORS = {"gemm": _gemm, "convolution": _convolution, "recurrent": _recurrent}


def wait(results):
    """Wait for a GPU; on the CPU, results are computed when a call returns."""
    if ":GPU:" in results[0].device.upper():
        tf.test.experimental.sync_devices()


class Operator(Passes):
    """The arrays of an operator on a device, and its passes."""

    def __init__(self, operator, arrays, device):
        super().__init__(operator)
        use(device)
        tf.config.experimental.enable_tensor_float_32_execution(False)
        # As variables: a constant that a function captures may be folded into it.
        self.arrays = {name: tf.Variable(self._channels_last(name, array)) for name, array in arrays.items()}
        self.gradient, self.compute = self.arrays.pop("gradient"), OPERATORS[operator["kind"]](operator)

    def _forward(self):
        @tf.function(autograph=False)
        def compute():
            return (self.compute(**self._values()),)

        return compute

    def _backward(self, name, wanted):
        @tf.function(autograph=False)
        def compute():
            values = self._values()
            with tf.GradientTape(watch_accessed_variables=False) as tape:
                tape.watch([values[part] for part in wanted])
                output = self.compute(**values)
            found = tape.gradient(output, [values[part] for part in wanted], self.gradient.read_value())
            return ((output,) if name == "forward_backward" else ()) + tuple(found)

        return compute

    def _values(self):
        return {name: variable.read_value() for name, variable in self.arrays.items()}

    def computes_on(self):
        return kind_of(self.gradient)

    def read(self, names, results):
        return [self._canonical(name, result.numpy().copy()) for name, result in zip(names, results)]
