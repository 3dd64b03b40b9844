"""Single operators in TensorFlow 1, each in one graph, of which a pass computes only what its results need.

Images are channels last, as in the networks.
"""

from functools import partial

import numpy as np
import tensorflow as tf

from dlworker.frameworks.tensorflow1 import CONFIG, require
from dlworker.operators import Passes, cells


def _gemm(operator, data, weights):
    return tf.matmul(weights, data, bool(operator["transposes_weights"]), bool(operator["transposes_data"]))


def _convolution(operator, data, weights):
    (rows, columns), (down, right) = operator["padding"], operator["stride"]
    padding = [(0, 0), (rows, rows), (columns, columns), (0, 0)]
    return tf.nn.conv2d(data, weights, [1, down, right, 1], padding)


def _recurrent(operator, data, weights, recurrent):
    cell = CELLS[operator["cell"]]

    def step(carry, inputs):
        return cell(inputs, tf.matmul(carry[0], recurrent, transpose_b=True), carry)

    first = tf.zeros_like(data[0])
    # The product with all inputs at once, as libraries of recurrent layers compute it.
    return tf.scan(step, tf.tensordot(data, weights, [[2], [1]]), (first, first))[0]


CELLS = cells(tf.tanh, tf.sigmoid, partial(tf.split, axis=1))
OPERATORS = {"gemm": _gemm, "convolution": _convolution, "recurrent": _recurrent}


def wait(results):
    """Does nothing: a session returns NumPy arrays, which are computed."""


class Operator(Passes):
    """The graph of an operator with its arrays as variables, and its session."""

    def __init__(self, operator, arrays, device):
        super(Operator, self).__init__(operator)
        require(device)
        with tf.Graph().as_default() as self.graph:
            # As variables: constants are folded.
            native = {name: np.ascontiguousarray(self._channels_last(name, array)) for name, array in arrays.items()}
            fed = {name: tf.placeholder(tf.float32, array.shape) for name, array in native.items()}
            self.arrays = {name: tf.Variable(value) for name, value in fed.items()}
            self.session = tf.Session(config=CONFIG)
            self.session.run(tf.global_variables_initializer(), {fed[name]: native[name] for name in native})
            self.gradient = self.arrays.pop("gradient")
            values = {name: variable.read_value() for name, variable in self.arrays.items()}
            self.values, self.output = values, OPERATORS[operator["kind"]](operator, **values)

    def _forward(self):
        return self.session.make_callable([self.output])

    def _backward(self, name, wanted):
        with self.graph.as_default():
            by = [self.values[part] for part in wanted]
            gradients = tf.gradients(self.output, by, self.gradient.read_value())
        return self.session.make_callable([self.output] * (name == "forward_backward") + gradients)

    def computes_on(self):
        return "cpu", ""

    def read(self, names, results):
        return [self._canonical(name, np.array(result)) for name, result in zip(names, results)]
