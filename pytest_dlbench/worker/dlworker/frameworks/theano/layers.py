"""The layers of the Theano builder, each as part of the graph. Import it only after the builder has set the flags."""

from collections import OrderedDict
from typing import NamedTuple

import numpy as np
import theano
import theano.tensor as T  # noqa: N812 - the name it has in Theano's own documentation
from theano.gradient import DisconnectedType
from theano.sandbox import rng_mrg
from theano.tensor.signal import pool

from dlworker.graph import run, wired

# Theano-PyMC renamed it.
RandomStreams = getattr(rng_mrg, "MRG_RandomStreams", None) or rng_mrg.MRG_RandomStream


class FirstMaxPoolGrad(pool.MaxPoolGrad):
    """The gradient goes to the first of several equal values in a window; Theano's own passes it to each of them.

    Ties are common: wherever an image is blank, all values of a channel are the same.
    """

    def c_code(self, node, name, inp, out, sub):
        code = pool.MaxPoolGrad.c_code(self, node, name, inp, out, sub)
        given = "gx[0] = gx[0] + gz[0];"
        assert code.count(given) == 1
        # Nothing equals NaN: the rest of the window gets no gradient.
        return code.replace(given, given + " maximum = NAN;")

    def c_code_cache_version(self):
        return pool.MaxPoolGrad.c_code_cache_version(self) + (1,)


class FirstMaxPool(pool.Pool):
    """Theano's max pooling with the gradient above."""

    def L_op(self, inputs, outputs, grads):  # noqa: N802 - Theano's name
        x, window, stride, padding = inputs
        gradient = FirstMaxPoolGrad(self.ignore_border, ndim=self.ndim)(
            x, outputs[0], grads[0], window, stride, padding
        )
        return [gradient] + [DisconnectedType()() for _ in inputs[1:]]


def padded(x, padding, value):
    """Images padded with rows and columns of one value."""
    (top, bottom), (left, right) = padding
    rows, columns = x.shape[2], x.shape[3]
    shape = (x.shape[0], x.shape[1], rows + top + bottom, columns + left + right)
    ground = T.alloc(np.array(value, x.dtype), *shape)
    return T.set_subtensor(ground[:, :, top : top + rows, left : left + columns], x)


class Training(NamedTuple):
    """What only training has: random numbers, and updates besides the optimiser's."""

    random: RandomStreams
    updates: OrderedDict


# For each kind of layer, a function (layer, shared variables by role, x, training or None) -> x.


def conv2d(layer, own, x, training):
    # Theano would flip the filters, as a mathematical convolution does.
    padding = tuple(tuple(sides) for sides in layer["padding"])
    settings = {"subsample": tuple(layer["stride"]), "num_groups": layer.get("groups", 1)}
    x = T.nnet.conv2d(x, own["weight"], border_mode=padding, filter_flip=False, **settings)
    return x + own["bias"].dimshuffle("x", 0, "x", "x") if layer["bias"] else x


def dense(layer, own, x, training):
    x = T.dot(x, own["weight"])
    return x + own["bias"] if layer["bias"] else x


def max_pool(layer, own, x, training):
    padding = tuple(first for first, _ in layer["padding"])
    if any(first != last for first, last in layer["padding"]):
        x, padding = padded(x, layer["padding"], -np.inf), (0, 0)
    return FirstMaxPool(ignore_border=True)(x, tuple(layer["window"]), tuple(layer["stride"]), padding)


def avg_pool(layer, own, x, training):
    window, stride = tuple(layer["window"]), tuple(layer["stride"])
    if not any(any(sides) for sides in layer["padding"]):
        return pool.pool_2d(x, window, ignore_border=True, stride=stride, mode="average_exc_pad")
    # Theano has no gradient for a mean that excludes the padding.
    total = pool.pool_2d(padded(x, layer["padding"], 0.0), window, ignore_border=True, stride=stride, mode="sum")
    return total / covered(layer).astype(x.dtype)


def covered(layer):
    """The number of image values that each window covers, in every channel of every image."""
    along = []
    for axis in (0, 1):
        size, starts = layer["input"][1 + axis], np.arange(layer["output"][1 + axis]) * layer["stride"][axis]
        starts -= layer["padding"][axis][0]
        along.append(np.minimum(starts + layer["window"][axis], size) - np.maximum(starts, 0))
    return np.outer(*along)[np.newaxis, np.newaxis]


def relu(layer, own, x, training):
    # T.nnet.relu and T.maximum have a gradient at 0, the value of blank images before the first update.
    return x * (x > 0)


def dropout(layer, own, x, training):
    if training is None or not layer["rate"]:
        return x
    keep = 1.0 - layer["rate"]
    return x * training.random.binomial(x.shape, p=keep, dtype=x.dtype) / keep


def batch_norm(layer, own, x, training):
    """T.nnet.bn has the same graph, but refuses an epsilon of 1e-5, which is slightly smaller in float32."""
    mean, variance = own["mean"], own["variance"]
    if training is not None:
        axes = [axis for axis in range(x.ndim) if axis != 1]
        mean, variance = x.mean(axes), x.var(axes)
        count = T.cast(x.size // layer["input"][0], x.dtype)
        for role, new in (("mean", mean), ("variance", variance * count / (count - 1))):
            training.updates[own[role]] = layer["decay"] * own[role] + (1 - layer["decay"]) * new
    vectors = (mean, variance, own["scale"], own["shift"])
    mean, variance, scale, shift = (vector.dimshuffle("x", 0, *["x"] * (x.ndim - 2)) for vector in vectors)
    return (x - mean) * (scale / T.sqrt(variance + layer["epsilon"])) + shift


def local_response_norm(layer, own, x, training):
    channels, half = layer["input"][0], layer["size"] // 2
    squares = T.zeros((x.shape[0], channels + 2 * half, x.shape[2], x.shape[3]), x.dtype)
    squares = T.set_subtensor(squares[:, half : half + channels], T.sqr(x))
    total = sum(squares[:, first : first + channels] for first in range(layer["size"]))
    return x / (layer["k"] + layer["alpha"] / layer["size"] * total) ** layer["beta"]


def pad_channels(layer, own, x, training):
    zeros = T.zeros((x.shape[0], layer["added"], x.shape[2], x.shape[3]), x.dtype)
    return T.concatenate([x, zeros], axis=1)


def log_softmax(layer, own, x, training):
    # Theano's own only accepts a matrix.
    rows = x.reshape((-1, layer["input"][-1]))
    return T.nnet.logsoftmax(rows).reshape(x.shape, ndim=x.ndim)


LAYERS = {
    "conv2d": conv2d,
    "grouped_conv2d": conv2d,
    "local_response_norm": local_response_norm,
    "pad_channels": pad_channels,
    "log_softmax": log_softmax,
    "embedding": lambda layer, own, x, training: own["weight"][x],
    "cut": lambda layer, own, x, training: x[:, layer["first"] : layer["last"]],
    "dense": dense,
    "max_pool": max_pool,
    "avg_pool": avg_pool,
    "batch_norm": batch_norm,
    "dropout": dropout,
    "flatten": lambda layer, own, x, training: x.flatten(ndim=2),
    "relu": relu,
    "tanh": lambda layer, own, x, training: T.tanh(x),
    "sigmoid": lambda layer, own, x, training: T.nnet.sigmoid(x),
}


def concat(values):
    """Concatenates channels of images, features of vectors and sequences."""
    return T.concatenate(values, axis=1 if values[0].ndim == 4 else values[0].ndim - 1)


MERGES = {"add": lambda values: T.add(*values), "concat": concat}


# A step of a recurrent layer: (units, the input's contribution to the gates, state, weights) -> state.


def lstm(units, projected, state, recurrent):
    hidden, cell = state
    gates = projected + T.dot(hidden, recurrent)
    i, f, g, o = (gates[:, gate * units : (gate + 1) * units] for gate in range(4))
    cell = T.nnet.sigmoid(f) * cell + T.nnet.sigmoid(i) * T.tanh(g)
    return [T.nnet.sigmoid(o) * T.tanh(cell), cell]


def gru(units, projected, state, recurrent, bias):
    (hidden,) = state
    from_hidden = T.dot(hidden, recurrent) + bias
    gates = T.nnet.sigmoid(projected[:, : 2 * units] + from_hidden[:, : 2 * units])
    reset, update = gates[:, :units], gates[:, units:]
    new = T.tanh(projected[:, 2 * units :] + reset * from_hidden[:, 2 * units :])
    return [(1 - update) * new + update * hidden]


# The step function, the number of parts of the state, and the roles of the weights.
CELLS = {"lstm": (lstm, 2, ["recurrent"]), "gru": (gru, 1, ["recurrent", "recurrent_bias"])}
KINDS = {*LAYERS, *MERGES, *CELLS}


def recurrent(layer, own, x, goes_on, start):
    """Outputs of all steps or the last one, and the final state. A sequence keeps its state after its last step."""
    cell, parts, roles = CELLS[layer["kind"]]
    start = start or [T.zeros((x.shape[0], own["recurrent"].shape[0]), x.dtype)] * parts
    # The inputs' contribution to the gates needs no state: one product for all steps. Scan takes the steps first.
    projected = T.dot(x.dimshuffle(1, 0, 2), own["weight"]) + own["bias"]
    masks = [] if goes_on is None else [goes_on.dimshuffle(1, 0, "x")]

    def step(projected, *others):
        mask, state, weights = others[: len(masks)], others[len(masks) :][:parts], others[len(masks) + parts :]
        after = cell(layer["units"], projected, state, *weights)
        return [T.switch(mask[0], new, old) for new, old in zip(after, state)] if masks else after

    weights = [own[role] for role in roles]
    states, _ = theano.scan(step, [projected] + masks, start, weights, strict=True, return_list=True)
    ends = [state[-1] for state in states]
    return (states[0].dimshuffle(1, 0, 2) if layer["sequence"] else ends[0]), ends


def steps_of_sequences(tokens, padding):
    """For every step of every sequence, whether it precedes the padding."""
    lengths = T.neq(tokens, padding).sum(axis=1)
    return T.arange(tokens.shape[1]).dimshuffle("x", 0) < lengths.dimshuffle(0, "x")


def apply(layers, variables, x, training):
    """The output of each layer, by its name."""
    outputs, real, ends = OrderedDict(), {}, {}

    def call(layer, values):
        name, kind, x = layer["name"], layer["kind"], values[0]
        own = variables.get(name)
        if kind == "embedding" and layer["padding"] is not None:
            real[name] = steps_of_sequences(x, layer["padding"])
        if kind in MERGES:
            outputs[name] = MERGES[kind](values)
        elif kind in CELLS:
            goes_on, start = real.get(layer.get("lengths")), ends.get(layer.get("start"))
            outputs[name], ends[name] = recurrent(layer, own, x, goes_on, start)
        else:
            outputs[name] = LAYERS[kind](layer, own, x, training)
        return outputs[name]

    run(wired(layers), x, call)
    return outputs
