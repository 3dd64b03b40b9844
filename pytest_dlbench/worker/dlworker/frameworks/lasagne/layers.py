"""Every kind of layer as Lasagne layers, written here where Lasagne lacks them, and their stack.

It also supplies a Theano module that Lasagne 0.1 imports and that Theano 1.0 has removed.
"""

import sys
import types
from functools import partial

import numpy as np

# Theano must know its BLAS before it is imported: its builder, imported with its layers, sees to that.
from dlworker.frameworks.theano import layers as theano_layers
from dlworker.graph import run, wired

# isort: split
import theano
import theano.tensor as T  # noqa: N812 - the name it has in Theano's own documentation


def max_pool_2d(images, ds, ignore_border, st, padding, mode):
    """What Lasagne calls for pooling, from a module that Theano 1.0 no longer has."""
    return (theano_layers.FirstMaxPool if mode == "max" else theano_layers.pool.Pool)(ignore_border, mode)(
        images, ds, st, padding
    )


downsample = types.ModuleType("theano.tensor.signal.downsample")
downsample.max_pool_2d = max_pool_2d
sys.modules[downsample.__name__] = downsample

import lasagne  # noqa: E402 - it imports the module above
from lasagne.layers import (  # noqa: E402
    ConcatLayer,
    Conv2DLayer,
    DenseLayer,
    DropoutLayer,
    ElemwiseSumLayer,
    EmbeddingLayer,
    FlattenLayer,
    Gate,
    InputLayer,
    Layer,
    LSTMLayer,
    MaxPool2DLayer,
    MergeLayer,
    NonlinearityLayer,
    PadLayer,
    Pool2DLayer,
    ReshapeLayer,
    SliceLayer,
)
from lasagne.nonlinearities import sigmoid, tanh  # noqa: E402


class BatchNormLayer(Layer):
    """Lasagne has one since 0.2, which keeps the inverse standard deviation; this one keeps the unbiased variance."""

    def __init__(self, incoming, epsilon, decay, gamma, beta, **kwargs):
        super().__init__(incoming, **kwargs)
        self.epsilon, self.decay = epsilon, decay
        shape = (self.input_shape[1],)
        self.gamma = self.add_param(gamma, shape, "gamma", regularizable=False)
        self.beta = self.add_param(beta, shape, "beta", regularizable=False)
        self.mean = self.add_param(lasagne.init.Constant(0), shape, "mean", trainable=False, regularizable=False)
        self.variance = self.add_param(
            lasagne.init.Constant(1), shape, "variance", trainable=False, regularizable=False
        )

    def get_output_for(self, input, deterministic=False, **kwargs):  # noqa: A002 - Lasagne's name
        mean, variance = self.mean, self.variance
        if not deterministic:
            axes = [axis for axis in range(input.ndim) if axis != 1]
            mean, variance = input.mean(axes), input.var(axes)
            count = T.cast(input.size // self.input_shape[1], input.dtype)
            self.moved = [
                (self.mean, self.decay * self.mean + (1 - self.decay) * mean),
                (self.variance, self.decay * self.variance + (1 - self.decay) * variance * count / (count - 1)),
            ]
        pattern = ["x", 0] + ["x"] * (input.ndim - 2)
        vectors = (mean, variance, self.gamma, self.beta)
        mean, variance, gamma, beta = (vector.dimshuffle(pattern) for vector in vectors)
        return (input - mean) * (gamma / T.sqrt(variance + self.epsilon)) + beta


class GroupedConv2DLayer(Conv2DLayer):
    """Grouped convolution: Lasagne's has only one group."""

    def __init__(self, incoming, groups, *args, **kwargs):
        self.groups = groups
        super().__init__(incoming, *args, convolution=partial(T.nnet.conv2d, num_groups=groups), **kwargs)

    def get_W_shape(self):  # noqa: N802 - Lasagne's name
        filters, channels, rows, columns = super().get_W_shape()
        return filters, channels // self.groups, rows, columns


class RecurrentLayer(MergeLayer):
    """A recurrent layer that Lasagne lacks, with arrays in the canonical layout.

    Lasagne's GRU has no bias inside the product with the reset gate, and its LSTM does not expose the cell, in which
    another layer could start.
    """

    def __init__(self, layer, incoming, given, mask_input, start):
        incomings = {"x": incoming, "goes_on": mask_input, "start": start}
        self.roles = [role for role, below in incomings.items() if below is not None]
        super().__init__([incomings[role] for role in self.roles], name=layer["name"])
        self.layer, self.begins_in = layer, start
        units, gates = layer["units"], 4 if layer["kind"] == "lstm" else 3
        shapes = {"weight": (layer["input"][1], gates * units), "recurrent": (units, gates * units)}
        shapes.update((bias, (gates * units,)) for bias in ("bias", "recurrent_bias")[: 5 - gates])
        self.own = {}
        for role, shape in shapes.items():
            initial = lasagne.init.Constant(0.0) if "bias" in role else lasagne.init.Normal(0.1)
            self.own[role] = self.add_param(given.get(role, initial), shape, role)

    def get_output_shape_for(self, input_shapes):
        batch, steps, _ = input_shapes[0]
        return (batch, steps, self.layer["units"]) if self.layer["sequence"] else (batch, self.layer["units"])

    def get_output_for(self, inputs, **kwargs):
        found = dict(zip(self.roles, inputs))
        # It starts in the whole state of the other layer, which that layer keeps.
        start = self.begins_in and self.begins_in.ends
        output, self.ends = theano_layers.recurrent(self.layer, self.own, found["x"], found.get("goes_on"), start)
        return output


def rectify(x):
    """Lasagne's own has a gradient of one half at 0, the value of blank images before the first update."""
    return x * (x > 0)


# For each kind of layer, a function (layer, Lasagne layer below, initial arrays by role or nothing) -> Lasagne layer.
# Recurrent layers and layers with several inputs have signatures of their own.


def _w_and_b(layer, given):
    found = {"nonlinearity": None, "name": layer["name"]}
    if given:
        found["W"] = given["weight"]
    if not layer["bias"] or given:
        found["b"] = given.get("bias")
    return found


def conv2d(layer, below, given):
    options = _w_and_b(layer, given)
    if given:
        # Lasagne computes a true convolution: with filters rotated by 180°.
        options["W"] = np.ascontiguousarray(given["weight"][:, :, ::-1, ::-1])
    below, pad = _pad(layer, below, 0)
    kind = partial(GroupedConv2DLayer, groups=layer["groups"]) if "groups" in layer else Conv2DLayer
    return kind(
        below, num_filters=layer["output"][0], filter_size=layer["kernel"], stride=layer["stride"], pad=pad, **options
    )


def dense(layer, below, given):
    units = layer["output"][-1]
    if len(layer["input"]) == 1:
        return DenseLayer(below, units, **_w_and_b(layer, given))
    # A Lasagne layer would treat all steps of a sequence as one vector.
    steps, features = layer["input"]
    below = ReshapeLayer(below, (-1, features), name=layer["name"] + "_steps")
    below = DenseLayer(below, units, **_w_and_b(layer, given))
    return ReshapeLayer(below, (-1, steps, units), name=layer["name"] + "_sequence")


def embedding(layer, below, given):
    options = {"W": given["weight"]} if given else {}
    return EmbeddingLayer(below, layer["vocabulary"], layer["output"][-1], name=layer["name"], **options)


def mask(layer, tokens):
    """Ones up to the end of each row of tokens, in the type of all other values."""

    def steps(x):
        return T.cast(theano_layers.steps_of_sequences(x, layer["padding"]), theano.config.floatX)

    return NonlinearityLayer(tokens, steps, name=layer["name"] + "_mask")


GATES = ("ingate", "forgetgate", "cell", "outgate")


LSTM_ROLES = {"weight": "W_in", "recurrent": "W_hid", "bias": "b"}


def lstm(layer, below, given, mask_input):
    """Lasagne's LSTM has the canonical gates in canonical order, each with its own arrays."""
    gates = {}
    for number, name in enumerate(GATES):
        columns = slice(number * layer["units"], (number + 1) * layer["units"])
        own = {LSTM_ROLES[role]: given[role][..., columns] for role in given}
        gates[name] = Gate(W_cell=None, nonlinearity=tanh if name == "cell" else sigmoid, **own)
    options = {"peepholes": False, "mask_input": mask_input, "name": layer["name"]}
    outputs = LSTMLayer(below, layer["units"], **gates, **options)
    return outputs if layer["sequence"] else SliceLayer(outputs, -1, axis=1, name=layer["name"] + "_last")


def max_pool(layer, below, given):
    below, pad = _pad(layer, below, -np.inf)
    return MaxPool2DLayer(below, layer["window"], layer["stride"], pad, name=layer["name"])


def avg_pool(layer, below, given):
    options = {"pool_size": layer["window"], "stride": layer["stride"]}
    if not any(any(sides) for sides in layer["padding"]):
        return Pool2DLayer(below, mode="average_exc_pad", name=layer["name"], **options)
    # Theano has no gradient for a mean that excludes the padding.
    counts = theano_layers.covered(layer).astype(theano.config.floatX)
    below = PadLayer(below, layer["padding"], name=layer["name"] + "_pad")
    below = Pool2DLayer(below, mode="sum", name=layer["name"] + "_sum", **options)
    return NonlinearityLayer(below, lambda x: x / counts, name=layer["name"])


def _pad(layer, below, value):
    """The padding layer that must come before, if the padding is asymmetric, and the remaining padding."""
    if all(first == last for first, last in layer["padding"]):
        return below, [first for first, _ in layer["padding"]]
    return PadLayer(below, layer["padding"], value, name=layer["name"] + "_pad"), (0, 0)


def batch_norm(layer, below, given):
    gamma, beta = given.get("scale", lasagne.init.Constant(1)), given.get("shift", lasagne.init.Constant(0))
    return BatchNormLayer(below, layer["epsilon"], layer["decay"], gamma, beta, name=layer["name"])


def _activation(function):
    return lambda layer, below, given: NonlinearityLayer(below, function, name=layer["name"])


def _plain(function):
    """A layer of the Theano builder that has no parameters."""
    return lambda layer, below, given: NonlinearityLayer(
        below, lambda x: function(layer, None, x, None), name=layer["name"]
    )


def concat(layer, values):
    # Concatenates channels of images, features of vectors and sequences.
    return ConcatLayer(values, axis=2 if len(layer["output"]) == 2 else 1, name=layer["name"])


LAYERS = {
    "conv2d": conv2d,
    "grouped_conv2d": conv2d,
    # Lasagne's own keeps squares in float32, whatever the type of the images.
    "local_response_norm": _plain(theano_layers.local_response_norm),
    "log_softmax": _plain(theano_layers.log_softmax),
    "pad_channels": lambda layer, below, given: PadLayer(
        below, [(0, layer["added"]), (0, 0), (0, 0)], batch_ndim=1, name=layer["name"]
    ),
    "embedding": embedding,
    "cut": lambda layer, below, given: SliceLayer(
        below, slice(layer["first"], layer["last"]), axis=1, name=layer["name"]
    ),
    "dense": dense,
    "max_pool": max_pool,
    "avg_pool": avg_pool,
    "batch_norm": batch_norm,
    "dropout": lambda layer, below, given: DropoutLayer(below, layer["rate"], name=layer["name"]),
    "flatten": lambda layer, below, given: FlattenLayer(below, name=layer["name"]),
    "relu": _activation(rectify),
    "tanh": _activation(tanh),
    "sigmoid": _activation(sigmoid),
}


MERGES = {"add": lambda layer, values: ElemwiseSumLayer(values, name=layer["name"]), "concat": concat}
RECURRENT = ("lstm", "gru")
KINDS = {*LAYERS, *MERGES, *RECURRENT}


def build(network, arrays):
    """The last layer of the stack; each starts from its given arrays or Lasagne's own initialisation."""
    given, masks, built = {}, {}, {}
    for name, array in arrays.items():
        layer, role = name.split(".")
        given.setdefault(layer, {})[role] = array
    starts = {layer["start"] for layer in network["layers"] if "start" in layer}

    def call(layer, values):
        name, kind, own = layer["name"], layer["kind"], given.get(layer["name"], {})
        if kind == "embedding" and layer["padding"] is not None:
            masks[name] = mask(layer, values[0])
        if kind in MERGES:
            return MERGES[kind](layer, values)
        if kind not in RECURRENT:
            return LAYERS[kind](layer, values[0], own)
        mask_input, start = masks.get(layer.get("lengths")), built.get(layer.get("start"))
        if kind == "lstm" and start is None and name not in starts:
            return lstm(layer, values[0], own, mask_input)
        built[name] = RecurrentLayer(layer, values[0], own, mask_input, start)
        return built[name]

    return run(wired(network["layers"]), InputLayer((None,) + tuple(network["input"]), name="input"), call)
