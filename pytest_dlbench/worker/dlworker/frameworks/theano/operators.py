"""Single operators in Theano, each pass a compiled function, which computes only what its results need."""

from functools import partial

import numpy as np
import theano
import theano.tensor as T  # noqa: N812 - the name it has in Theano's own documentation

from dlworker.frameworks.theano import require
from dlworker.operators import Passes, cells


def _gemm(operator, data, weights):
    weights = weights.T if operator["transposes_weights"] else weights
    return T.dot(weights, data.T if operator["transposes_data"] else data)


def _convolution(operator, data, weights):
    padding = tuple((size, size) for size in operator["padding"])
    shapes = {name: variable.get_value(borrow=True).shape for name, variable in (("i", data), ("f", weights))}
    settings = {"input_shape": shapes["i"], "filter_shape": shapes["f"], "subsample": tuple(operator["stride"])}
    # Theano would flip the filters, as a mathematical convolution does.
    return T.nnet.conv2d(data, weights, border_mode=padding, filter_flip=False, **settings)


def _recurrent(operator, data, weights, recurrent):
    cell = cells(T.tanh, T.nnet.sigmoid, partial(_divided, operator["units"]))[operator["cell"]]
    has_state = operator["cell"] == "lstm"

    def step(inputs, *carry):
        made = cell(inputs, T.dot(carry[0], recurrent.T), (carry[0], carry[-1]))
        return made if has_state else made[:1]

    first = T.zeros_like(data[0])
    # The product with all inputs at once, as libraries of recurrent layers compute it.
    outputs, _ = theano.scan(step, T.dot(data, weights.T), [first, first] if has_state else [first])
    return outputs[0] if has_state else outputs


def _divided(units, array, count):
    return [array[:, number * units : (number + 1) * units] for number in range(count)]


OPERATORS = {"gemm": _gemm, "convolution": _convolution, "recurrent": _recurrent}


def wait(results):
    """Does nothing: on the CPU, results are computed when a call returns."""


class Operator(Passes):
    """The shared variables of an operator, and its passes."""

    def __init__(self, operator, arrays, device):
        super().__init__(operator)
        require(device)
        theano.config.floatX = "float32"
        self.arrays = {name: theano.shared(np.array(array), name=name) for name, array in arrays.items()}
        self.gradient = self.arrays.pop("gradient")
        self.output = OPERATORS[operator["kind"]](operator, **self.arrays)

    def _forward(self):
        return self._compiled([self.output])

    def _backward(self, name, wanted):
        gradients = T.grad(None, [self.arrays[part] for part in wanted], known_grads={self.output: self.gradient})
        return self._compiled([self.output] * (name == "forward_backward") + gradients)

    @staticmethod
    def _compiled(results):
        # Without borrow, each result would be copied.
        return theano.function([], [theano.Out(result, borrow=True) for result in results])

    def computes_on(self):
        return "cpu", ""

    def read(self, names, results):
        return [np.array(result) for result in results]
