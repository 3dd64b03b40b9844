"""What single operators read, and their values and gradients. Apart from the operators, which need no NumPy."""

from collections.abc import Callable, Iterator, Mapping
from functools import singledispatch

import numpy as np
from numpy.typing import NDArray

from pytest_dlbench.model.operators import GEMM, AllReduce, Convolution, Operator, Recurrent
from pytest_dlbench.model.operators.recurrent import Cell

Array = NDArray[np.float64]
Arrays = Mapping[str, NDArray[np.floating]]
"""Arrays by name: those that an operator reads, or its output and its gradients."""
Back = Callable[[Array, Array], tuple[Array, Array, Array, Array]]
"""From the gradients by the new output and the new state of a cell to those by its two products and its old ones."""


def arrays(operator: Operator, seed: int) -> dict[str, NDArray[np.float32]]:
    """What it reads, and the output's "gradient": normal numbers, weights so that outputs are about as large."""
    generator = np.random.default_rng(seed)
    scales = {name: 1.0 if name == "data" else operator.fan_in**-0.5 for name in operator.shapes}
    shapes = {**operator.shapes, "gradient": operator.output}
    return {
        name: scales.get(name, 1.0) * generator.standard_normal(shape, dtype=np.float32)
        for name, shape in shapes.items()
    }


@singledispatch
def values(operator: Operator, arrays: Arrays) -> dict[str, Array]:  # noqa: ARG001 - of the registered functions
    """Its "output" and the gradients by its arrays, in float64; ``arrays`` has the output's "gradient", too."""
    raise TypeError(f"no values for {type(operator).__name__}")


@values.register
def _all_reduce(operator: AllReduce, arrays: Arrays) -> dict[str, Array]:  # noqa: ARG001 - the data have its sizes
    """The sum of all rows."""
    return {"output": np.sum(arrays["data"], axis=0, dtype=np.float64)}


@values.register
def _gemm(operator: GEMM, arrays: Arrays) -> dict[str, Array]:
    """The product, and its gradients in the layout of the arrays."""
    data, weights, gradient = (arrays[name].astype(np.float64) for name in ("data", "weights", "gradient"))
    weights = weights.T if operator.transposes_weights else weights
    data = data.T if operator.transposes_data else data
    by_data, by_weights = weights.T @ gradient, gradient @ data.T
    return {
        "output": weights @ data,
        "data": by_data.T if operator.transposes_data else by_data,
        "weights": by_weights.T if operator.transposes_weights else by_weights,
    }


@values.register
def _convolution(operator: Convolution, arrays: Arrays) -> dict[str, Array]:
    """By one product for each position in the kernel."""
    data, weights, gradient = (arrays[name].astype(np.float64) for name in ("data", "weights", "gradient"))
    (above, left), (height, width) = operator.padding, operator.image
    padded = np.pad(data, ((0, 0), (0, 0), (above, above), (left, left)))
    output, by_data, by_weights = np.zeros(operator.output), np.zeros_like(padded), np.zeros_like(weights)
    for row, column, seen in _positions(operator):
        pixels, filters = padded[:, :, *seen], weights[:, :, row, column]
        output += np.moveaxis(np.tensordot(pixels, filters, ((1,), (1,))), -1, 1)
        by_data[:, :, *seen] += np.moveaxis(np.tensordot(gradient, filters, ((1,), (0,))), -1, 1)
        by_weights[:, :, row, column] = np.tensordot(gradient, pixels, ((0, 2, 3), (0, 2, 3)))
    return {
        "output": output,
        "data": by_data[:, :, above : above + height, left : left + width],
        "weights": by_weights,
    }


def _positions(operator: Convolution) -> Iterator[tuple[int, int, tuple[slice, slice]]]:
    """Every position in the kernel, and the pixels that it sees."""
    (down, right), (height, width) = operator.stride, operator.output[2:]
    for row in range(operator.kernel[0]):
        for column in range(operator.kernel[1]):
            rows = slice(row, row + down * (height - 1) + 1, down)
            yield row, column, (rows, slice(column, column + right * (width - 1) + 1, right))


@values.register
def _recurrent(operator: Recurrent, arrays: Arrays) -> dict[str, Array]:
    """Outputs step by step, and gradients back through time."""
    data, weights, recurrent, gradient = (
        arrays[name].astype(np.float64) for name in ("data", "weights", "recurrent", "gradient")
    )
    hidden, state, outputs, backs = np.zeros(data.shape[1:]), np.zeros(data.shape[1:]), [], []
    for x in data:
        outputs.append(hidden)
        hidden, state, back = CELLS[operator.cell](x @ weights.T, hidden @ recurrent.T, hidden, state)
        backs.append(back)
    outputs.append(hidden)
    by_data, by_weights, by_recurrent = np.zeros_like(data), np.zeros_like(weights), np.zeros_like(recurrent)
    by_hidden, by_state = np.zeros_like(hidden), np.zeros_like(hidden)
    for step in reversed(range(operator.steps)):
        of_input, of_hidden, direct, by_state = backs[step](by_hidden + gradient[step], by_state)
        by_data[step] = of_input @ weights
        by_weights += of_input.T @ data[step]
        by_recurrent += of_hidden.T @ outputs[step]
        by_hidden = of_hidden @ recurrent + direct
    return {"output": np.stack(outputs[1:]), "data": by_data, "weights": by_weights, "recurrent": by_recurrent}


def _rnn(inputs: Array, recurrent: Array, hidden: Array, state: Array) -> tuple[Array, Array, Back]:
    new = np.tanh(inputs + recurrent)

    def back(by_new: Array, by_state: Array) -> tuple[Array, Array, Array, Array]:
        total = by_new * (1 - new**2)
        return total, total, np.zeros_like(hidden), by_state

    return new, state, back


def _lstm(inputs: Array, recurrent: Array, hidden: Array, state: Array) -> tuple[Array, Array, Back]:
    taken, kept, cell, shown = np.split(inputs + recurrent, 4, axis=1)
    taken, kept, cell, shown = _sigmoid(taken), _sigmoid(kept), np.tanh(cell), _sigmoid(shown)
    new_state = kept * state + taken * cell
    bounded = np.tanh(new_state)

    def back(by_new: Array, by_state: Array) -> tuple[Array, Array, Array, Array]:
        total = by_state + by_new * shown * (1 - bounded**2)
        parts = (
            total * cell * taken * (1 - taken),
            total * state * kept * (1 - kept),
            total * taken * (1 - cell**2),
            by_new * bounded * shown * (1 - shown),
        )
        gates = np.concatenate(parts, axis=1)
        return gates, gates, np.zeros_like(hidden), total * kept

    return shown * bounded, new_state, back


def _gru(inputs: Array, recurrent: Array, hidden: Array, state: Array) -> tuple[Array, Array, Back]:
    of_input, of_hidden = np.split(inputs, 3, axis=1), np.split(recurrent, 3, axis=1)
    reset, update = (_sigmoid(of_input[gate] + of_hidden[gate]) for gate in (0, 1))
    new = np.tanh(of_input[2] + reset * of_hidden[2])

    def back(by_new: Array, by_state: Array) -> tuple[Array, Array, Array, Array]:
        by_sum = by_new * (1 - update) * (1 - new**2)
        by_update = by_new * (hidden - new) * update * (1 - update)
        by_reset = by_sum * of_hidden[2] * reset * (1 - reset)
        both = (by_reset, by_update)
        return (
            np.concatenate((*both, by_sum), axis=1),
            np.concatenate((*both, by_sum * reset), axis=1),
            by_new * update,
            by_state,
        )

    return (1 - update) * new + update * hidden, state, back


def _sigmoid(x: Array) -> Array:
    return 1 / (1 + np.exp(-x))


CELLS: Mapping[Cell, Callable[[Array, Array, Array, Array], tuple[Array, Array, Back]]] = {
    "rnn": _rnn,
    "lstm": _lstm,
    "gru": _gru,
}
