"""The layers of the CNTK builder, from cntk.layers where available.

A row of tokens becomes a CNTK sequence, with a dynamic axis and each row's own length: what follows a row's end is
never fed, and a layer after the embedding sees one step.
"""

import math

import cntk as C  # noqa: N812 - the name it has in CNTK's own tutorials
import numpy as np

from dlworker.graph import run, wired
from dlworker.protocol import RequestError

# For each kind of layer, a function (layer, x, settings) -> (output, {canonical role: parameter}).


def conv2d(layer, x, settings):
    automatic, x = padded(layer, layer["kernel"], x, 0.0)
    conv = C.layers.Convolution2D(
        tuple(layer["kernel"]),
        layer["output"][0],
        strides=tuple(layer["stride"]),
        pad=automatic,
        bias=layer["bias"],
        init=_initializer(settings),
        name=layer["name"],
    )
    return conv(x), _weight_and_bias(conv, layer)


def dense(layer, x, settings):
    units, init = layer["output"][-1], _initializer(settings)
    product = C.layers.Dense(units, bias=layer["bias"], init=init, name=layer["name"])
    return product(x), _weight_and_bias(product, layer)


def _initializer(settings):
    # The default of cntk.layers, seeded per layer: with set_fixed_random_seed all layers would start alike.
    return C.glorot_uniform(seed=settings["seed"])


def _weight_and_bias(function, layer):
    return {"weight": function.W, "bias": function.b} if layer["bias"] else {"weight": function.W}


def grouped_conv2d(layer, x, settings):
    """C.layers.Convolution2D refuses groups, which the underlying operation supports."""
    automatic, x = padded(layer, layer["kernel"], x, 0.0)
    filters, channels = layer["output"][0], layer["input"][0] // layer["groups"]
    shape, dtype = [filters, channels] + layer["kernel"], settings["dtype"]
    own = {"weight": C.parameter(shape, init=_initializer(settings), dtype=dtype)}
    padding = (False,) + automatic
    x = C.convolution(own["weight"], x, tuple(layer["stride"]), auto_padding=padding, groups=layer["groups"])
    if layer["bias"]:
        own["bias"] = C.parameter((filters, 1, 1), init=0, dtype=dtype)
        x = x + own["bias"]
    return x, own


def max_pool(layer, x, settings):
    automatic, x = padded(layer, layer["window"], x, -np.inf)
    window, stride = tuple(layer["window"]), tuple(layer["stride"])
    return C.layers.MaxPooling(window, strides=stride, pad=automatic, name=layer["name"])(x), {}


def avg_pool(layer, x, settings):
    automatic, wider = padded(layer, layer["window"], x, 0.0)
    window, stride = tuple(layer["window"]), tuple(layer["stride"])
    pooled = C.layers.AveragePooling(window, strides=stride, pad=automatic, name=layer["name"])(wider)
    if wider is x:
        return pooled, {}
    # CNTK excludes its own padding from the mean, but counts what C.pad added as part of the image.
    return pooled * C.constant(_window_shares(layer, automatic), dtype=settings["dtype"]), {}


def _window_shares(layer, automatic):
    """For every output, its window's size divided by the part inside the image, as 1×H×W."""
    shares = [np.ones(size) for size in layer["output"][1:]]
    for axis in (0, 1):
        if not automatic[axis]:
            size, window, stride = layer["input"][1 + axis], layer["window"][axis], layer["stride"][axis]
            first = np.arange(layer["output"][1 + axis]) * stride - layer["padding"][axis][0]
            shares[axis] = window / (np.minimum(first + window, size) - np.maximum(first, 0))
    return np.outer(*shares)[np.newaxis]


def padded(layer, window, x, value):
    """For rows and columns, whether CNTK pads them as wanted; and x padded where it does not."""
    axes = zip(layer["input"][1:], window, layer["stride"], layer["padding"], layer["output"][1:])
    automatic = tuple(_pads_itself(*axis) for axis in axes)
    sides = [(0, 0) if own else tuple(pad) for own, pad in zip(automatic, layer["padding"])]
    if not any(map(any, sides)):
        return automatic, x
    return automatic, C.pad(x, [(0, 0)] + sides, constant_value=value)


def _pads_itself(size, window, stride, padding, outputs):
    """Whether pad=True pads like this. It is faster than C.pad, and pooling ignores its padding."""
    # CNTK computes ceil(size / stride) outputs and centres the windows, with its own rounding.
    rest = size - 1 - (outputs - 1) * stride
    before = (window - 1) // 2 - rest // 2
    fits = outputs == -(-size // stride) and window <= size
    return any(padding) and fits and before == padding[0]


def batch_norm(layer, x, settings):
    channels, dtype = layer["input"][:1], settings["dtype"]
    scale, shift = C.parameter(channels, init=1, dtype=dtype), C.parameter(channels, init=0, dtype=dtype)
    # cntk.layers starts from a variance of 0 and a count of 0, so that the first batch replaces the running statistics
    # entirely (and evaluating before it is an error). With a count of 1 they keep their initial values and then decay.
    mean, variance = C.constant(0, channels, dtype=dtype), C.constant(1, channels, dtype=dtype)
    count = C.constant(1, (), dtype=dtype)
    normalized = C.batch_normalization(
        x,
        scale,
        shift,
        mean,
        variance,
        running_count=count,
        spatial=len(layer["input"]) == 3,
        normalization_time_constant=_time_constant(layer["decay"], settings["batch_size"]),
        epsilon=layer["epsilon"],
        name=layer["name"],
    )
    return normalized, {"scale": scale, "shift": shift}


def _time_constant(decay, batch_size):
    """The time constant by which CNTK's exp(-examples / constant) is the decay of one batch."""
    return -batch_size / math.log(decay) if decay else 0.0


def local_response_norm(layer, x, settings):
    # CNTK divides alpha by the size, as we do, whatever its documentation says.
    bias, alpha, beta = layer["k"], layer["alpha"], layer["beta"]
    return C.local_response_normalization(x, layer["size"] // 2, bias, alpha, beta, name=layer["name"]), {}


def pad_channels(layer, x, settings):
    return C.pad(x, [(0, layer["added"]), (0, 0), (0, 0)], constant_value=0, name=layer["name"]), {}


def embedding(layer, tokens, settings):
    """Embed ``tokens`` (Tokens); their sequence is created here, or reused where another layer reads the same."""
    # Embeddings of the same tokens share one dynamic axis, so that branches can be merged again.
    key, sequences = (tokens.first, tokens.last, layer["padding"]), settings["sequences"]
    if key not in sequences:
        sequences[key] = Sequences(tokens, layer["padding"], settings["dtype"])
    shape = (layer["vocabulary"], layer["output"][-1])
    weight = C.parameter(shape, init=_initializer(settings), dtype=settings["dtype"])
    # C.layers.Embedding would multiply one-hot rows.
    return C.gather(weight, sequences[key].variable), {"weight": weight}


def dropout(layer, x, settings):
    return C.layers.Dropout(layer["rate"], seed=settings["seed"], name=layer["name"])(x), {}


def _function(function):
    return lambda layer, x, settings: (function(x, name=layer["name"]), {})


LAYERS = {
    "conv2d": conv2d,
    "grouped_conv2d": grouped_conv2d,
    "local_response_norm": local_response_norm,
    "log_softmax": _function(C.log_softmax),
    "pad_channels": pad_channels,
    "dense": dense,
    "max_pool": max_pool,
    "avg_pool": avg_pool,
    "batch_norm": batch_norm,
    "cut": lambda layer, tokens, settings: (tokens.cut(layer), {}),
    "embedding": embedding,
    "dropout": dropout,
    "flatten": lambda layer, x, settings: (C.reshape(x, layer["output"], name=layer["name"]), {}),
    "relu": _function(C.relu),
    "tanh": _function(C.tanh),
    "sigmoid": _function(C.sigmoid),
}


def lstm(layer, settings):
    """The step function, and its parameters by role."""
    cell = C.layers.LSTM(layer["units"], init=_initializer(settings), name=layer["name"])
    return cell, {"weight": cell.W, "recurrent": cell.H, "bias": cell.b}


def cntk_gates(array):
    """An LSTM's columns in CNTK's order, with the cell before the forget gate."""
    i, f, g, o = np.split(array, 4, axis=-1)
    return np.concatenate([i, g, f, o], axis=-1)


def gru(layer, settings):
    """As lstm. C.layers.GRU applies the reset gate before the product, and has one bias."""
    units, dtype = layer["units"], settings["dtype"]
    shapes = {"weight": (layer["input"][1], 3 * units), "recurrent": (units, 3 * units)}
    own = {role: C.parameter(shape, init=_initializer(settings), dtype=dtype) for role, shape in shapes.items()}
    own.update((role, C.parameter(3 * units, init=0, dtype=dtype)) for role in ("bias", "recurrent_bias"))

    def step(hidden, x):
        projected = C.times(x, own["weight"]) + own["bias"]
        recurrent = C.times(hidden, own["recurrent"]) + own["recurrent_bias"]
        gates = C.sigmoid(projected[: 2 * units] + recurrent[: 2 * units])
        reset, update = gates[:units], gates[units:]
        new = C.tanh(projected[2 * units :] + reset * recurrent[2 * units :])
        return (1 - update) * new + update * hidden

    return step, own


CELLS = {"lstm": lstm, "gru": gru}
MERGES = {
    "add": lambda layer, values: C.plus(*values, name=layer["name"]),
    "concat": lambda layer, values: C.splice(*values, axis=0, name=layer["name"]),
}
KINDS = {*LAYERS, *CELLS, *MERGES}


class Tokens:
    """Columns ``first`` up to but excluding ``last`` of the token rows: an embedding's input is fed as a sequence."""

    def __init__(self, first, last):
        self.first, self.last = first, last

    def cut(self, layer):
        return Tokens(self.first + layer["first"], self.first + layer["last"])


class Sequences:
    """A CNTK input, and what is fed to it."""

    def __init__(self, tokens, padding, dtype):
        self.tokens, self.padding = tokens, padding
        self.variable = C.sequence.input_variable((), dtype=dtype, sequence_axis=C.Axis.new_unique_dynamic_axis("row"))

    def feed(self, rows):
        rows = rows[:, self.tokens.first : self.tokens.last]
        if self.padding is None:
            return rows
        lengths = (rows != self.padding).sum(axis=1)
        return [row[:length] for row, length in zip(rows, lengths)]


class Network:
    """The logits of x or of rows of tokens, the sequences to feed, and each parameter by its canonical name."""

    def __init__(self, network, x, dtype, batch_size, seed):
        self.sequences = {}
        self.settings = {"dtype": dtype, "batch_size": batch_size, "sequences": self.sequences}
        self.seeds = {layer["name"]: 1000 * seed + place for place, layer in enumerate(network["layers"])}
        self.parameters, self.ends = {}, {}
        self.logits = run(wired(network["layers"]), x, self._layer)

    def _layer(self, layer, values):
        kind, x, settings = layer["kind"], values[0], dict(self.settings, seed=self.seeds[layer["name"]])
        if kind in ("flatten", "batch_norm") and len(layer["input"]) == 2:
            raise RequestError(
                "unsupported", "CNTK's sequences lack the fixed number of steps that a layer %s needs" % kind
            )
        if kind in MERGES:
            return MERGES[kind](layer, values)
        if kind in CELLS:
            x, own = self._recurrent(layer, x, settings)
        else:
            x, own = LAYERS[kind](layer, x, settings)
        self.parameters.update(("%s.%s" % (layer["name"], role), parameter) for role, parameter in own.items())
        return x

    def _recurrent(self, layer, x, settings):
        cell, own = CELLS[layer["kind"]](layer, settings)
        if "start" in layer:
            outputs = C.layers.RecurrenceFrom(cell, return_full_state=True)(*(self.ends[layer["start"]] + [x])).outputs
        else:
            outputs = C.layers.Recurrence(cell, return_full_state=True)(x).outputs
        self.ends[layer["name"]] = [C.sequence.last(output) for output in outputs]
        return (outputs[0] if layer["sequence"] else self.ends[layer["name"]][0]), own
