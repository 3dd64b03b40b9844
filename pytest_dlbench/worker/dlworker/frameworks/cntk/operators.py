"""Single operators in CNTK, each pass a graph of its own: CNTK keeps what a backward pass needs, and repeats it.

What has no gradient in a pass is a constant, or an input without one. Batches and steps are dynamic axes.
"""

from functools import partial

import cntk as C  # noqa: N812 - the name it has in CNTK's own tutorials
import numpy as np

from dlworker.frameworks.cntk import require
from dlworker.frameworks.cntk.layers import padded
from dlworker.operators import Passes, cells


def _gemm(operator, shapes, data, weights):
    # A product can transpose its right matrix only.
    weights = C.transpose(weights, (1, 0)) if operator["transposes_weights"] else weights
    return (C.times_transpose if operator["transposes_data"] else C.times)(weights, data)


def _convolution(operator, shapes, data, weights):
    sizes = {"input": shapes["data"][1:], "output": shapes["gradient"][1:], "stride": operator["stride"]}
    layer = dict(sizes, padding=[(size, size) for size in operator["padding"]])
    automatic, data = padded(layer, operator["kernel"], data, 0.0)
    return C.convolution(weights, data, tuple(operator["stride"]), auto_padding=(False,) + automatic)


def _recurrent(operator, shapes, data, weights, recurrent):
    cell = cells(C.tanh, C.sigmoid, partial(_divided, operator["units"]))[operator["cell"]]
    if operator["cell"] == "lstm":

        def step(hidden, state, inputs):
            return cell(inputs, C.times(hidden, recurrent), (hidden, state))
    else:

        def step(hidden, inputs):
            return cell(inputs, C.times(hidden, recurrent), (hidden, None))[0]

    return C.layers.Recurrence(step)(C.times(data, weights))


def _divided(units, array, count):
    return [array[number * units : (number + 1) * units] for number in range(count)]


OPERATORS = {"gemm": _gemm, "convolution": _convolution, "recurrent": _recurrent}


def wait(results):
    """Does nothing: on the CPU, results are computed when a call returns."""


class Operator(Passes):
    """The arrays of an operator in CNTK's layouts, and its passes."""

    def __init__(self, operator, arrays, device):
        super().__init__(operator)
        require(device)
        self.kind = operator["kind"]
        self.arrays = {name: np.ascontiguousarray(self._transposed(name, array)) for name, array in arrays.items()}
        self.shapes = {name: array.shape for name, array in self.arrays.items()}
        self.gradient = C.Value(self.arrays.pop("gradient"))

    def _transposed(self, name, array):
        """Of recurrent layers, sequences begin with the batch, and weights with their inputs."""
        return array.swapaxes(0, 1) if self.kind == "recurrent" else array

    def _graph(self, wanted):
        """The output, what each array is in the graph, and the values of its inputs."""
        given = {name: self._node(name, name in wanted) for name in self.arrays}
        values = {node: C.Value(self.arrays[name]) for name, node in given.items() if node.is_input}
        return OPERATORS[self.kind](self.operator, self.shapes, **given), given, values

    def _node(self, name, has_gradient):
        array = self.arrays[name]
        if name == "data" and self.kind == "convolution":
            return C.input_variable(array.shape[1:], needs_gradient=has_gradient)
        if name == "data" and self.kind == "recurrent":
            return C.sequence.input_variable(array.shape[2:], needs_gradient=has_gradient)
        return C.parameter(init=array) if has_gradient else C.constant(array)

    def _forward(self):
        output, _, values = self._graph(())
        return lambda: list(output.forward(values, as_numpy=False)[1].values())

    def _backward(self, name, wanted):
        output, given, values = self._graph(wanted)
        by, root = [given[part] for part in wanted], {output.output: self.gradient}

        def forward():
            return output.forward(values, keep_for_backward={output.output}, as_numpy=False)

        def backward(state):
            found = output.backward(state, root, set(by), as_numpy=False)
            return [found[node] for node in by]

        def together():
            # The backward pass of a loop cannot be repeated.
            state, found = forward()
            return list(found.values()) + backward(state)

        if name == "forward_backward":
            return together
        state, _ = forward()
        return lambda: backward(state)

    def computes_on(self):
        return "cpu", ""

    def read(self, names, results):
        shapes = [self.shapes.get(name, self.shapes["gradient"]) for name in names]
        arrays = [np.array(result.asarray()).reshape(shape) for result, shape in zip(results, shapes)]
        return [self._transposed(name, array) for name, array in zip(names, arrays)]
