"""Lasagne 0.1 on Theano 1.0: a stack of its layers, whose output theano.function compiles when the network is built."""

from functools import partial

import numpy as np

# Theano must be told of its BLAS before it is imported, and Lasagne of what Theano no longer has: these two do that.
from dlworker.frameworks import theano as plain
from dlworker.frameworks.lasagne.layers import BatchNormLayer, GroupedConv2DLayer, RecurrentLayer, rectify
from dlworker.frameworks.lasagne.optimizers import OPTIMIZERS
from dlworker.frameworks.theano import layers as theano_layers
from dlworker.frameworks.theano.optimizers import clipped
from dlworker.graph import run, wired

# isort: split
import lasagne
import theano
import theano.tensor as T  # noqa: N812 - the name it has in Theano's own documentation
from lasagne.layers import (
    ConcatLayer,
    Conv2DLayer,
    DenseLayer,
    DropoutLayer,
    ElemwiseSumLayer,
    EmbeddingLayer,
    FlattenLayer,
    Gate,
    InputLayer,
    LSTMLayer,
    MaxPool2DLayer,
    NonlinearityLayer,
    PadLayer,
    Pool2DLayer,
    ReshapeLayer,
    SliceLayer,
)
from lasagne.nonlinearities import sigmoid, tanh

SUPPORTS = {
    "adadelta",
    "adam",
    "add",
    "avg_pool",
    "batch_norm",
    "clip_norm",
    "concat",
    "conv2d",
    "cut",
    "dense",
    "dropout",
    "embedding",
    "flatten",
    "grouped_conv2d",
    "gru",
    "lengths",
    "local_response_norm",
    "log_softmax",
    "lstm",
    "max_pool",
    "pad_channels",
    "pipeline",
    "relu",
    "rmsprop",
    "schedule",
    "sequence_cross_entropy",
    "sgd",
    "sigmoid",
    "sigmoid_cross_entropy",
    "softmax_cross_entropy",
    "start",
    "tanh",
}


configure, threads = plain.configure, plain.threads


def versions():
    """Lasagne and what is below it."""
    return dict(plain.versions(), lasagne=lasagne.__version__)


# Every layer is a function (layer, the Lasagne layer below, initial arrays by role or nothing) -> Lasagne layer. Those
# of several inputs and recurrent layers are called by what they need.


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
        # Lasagne convolves, with filters that are turned by half a circle.
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
    # A layer of Lasagne would take all steps of a sequence for one vector.
    steps, features = layer["input"]
    below = ReshapeLayer(below, (-1, features), name=layer["name"] + "_steps")
    below = DenseLayer(below, units, **_w_and_b(layer, given))
    return ReshapeLayer(below, (-1, steps, units), name=layer["name"] + "_sequence")


def embedding(layer, below, given):
    options = {"W": given["weight"]} if given else {}
    return EmbeddingLayer(below, layer["vocabulary"], layer["output"][-1], name=layer["name"], **options)


def mask(layer, tokens):
    """Ones where a row of tokens has not ended, of the type of all other values."""

    def steps(x):
        return T.cast(theano_layers.steps_of_sequences(x, layer["padding"]), theano.config.floatX)

    return NonlinearityLayer(tokens, steps, name=layer["name"] + "_mask")


GATES = ("ingate", "forgetgate", "cell", "outgate")
LSTM_ROLES = {"weight": "W_in", "recurrent": "W_hid", "bias": "b"}


def lstm(layer, below, given, mask_input):
    """Lasagne's LSTM has the canonical gates in the canonical order, each with its own arrays."""
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
    # Theano has no gradient for a mean that leaves out the padding.
    counts = theano_layers.covered(layer).astype(theano.config.floatX)
    below = PadLayer(below, layer["padding"], name=layer["name"] + "_pad")
    below = Pool2DLayer(below, mode="sum", name=layer["name"] + "_sum", **options)
    return NonlinearityLayer(below, lambda x: x / counts, name=layer["name"])


def _pad(layer, below, value):
    """The layer that must come before, for padding that differs between the sides, and the padding that remains."""
    if all(first == last for first, last in layer["padding"]):
        return below, [first for first, _ in layer["padding"]]
    return PadLayer(below, layer["padding"], value, name=layer["name"] + "_pad"), (0, 0)


def batch_norm(layer, below, given):
    gamma, beta = given.get("scale", lasagne.init.Constant(1)), given.get("shift", lasagne.init.Constant(0))
    return BatchNormLayer(below, layer["epsilon"], layer["decay"], gamma, beta, name=layer["name"])


def _activation(function):
    return lambda layer, below, given: NonlinearityLayer(below, function, name=layer["name"])


def _plain(function):
    """A layer of Theano's builder, which has no parameters."""
    return lambda layer, below, given: NonlinearityLayer(
        below, lambda x: function(layer, None, x, None), name=layer["name"]
    )


def concat(layer, values):
    # Channels of images, features of vectors and sequences.
    return ConcatLayer(values, axis=2 if len(layer["output"]) == 2 else 1, name=layer["name"])


LAYERS = {
    "conv2d": conv2d,
    "grouped_conv2d": conv2d,
    # Lasagne's own keeps squares in float32, whatever the type of the images is.
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
ROLES = {"W": "weight", "b": "bias", "gamma": "scale", "beta": "shift"}
ROLES.update(("W_in_to_" + gate, "weight") for gate in GATES)
ROLES.update(("W_hid_to_" + gate, "recurrent") for gate in GATES)
ROLES.update(("b_" + gate, "bias") for gate in GATES)


def build(network, arrays):
    """The last layer of the stack; each starts from its arrays, or as Lasagne has it."""
    given, masks, built = {}, {}, {}
    for name, array in arrays.items():
        layer, role = name.split(".")
        given.setdefault(layer, {})[role] = array
    starts = {layer["start"] for layer in network["layers"] if "start" in layer}

    def call(layer, values):
        name, kind, own = layer["name"], layer["kind"], given.get(layer["name"], {})
        if kind == "embedding" and layer["padding"] is not None:
            masks[name] = mask(layer, values[0])
        if kind == "add":
            return ElemwiseSumLayer(values, name=name)
        if kind == "concat":
            return concat(layer, values)
        if kind not in ("lstm", "gru"):
            return LAYERS[kind](layer, values[0], own)
        mask_input, start = masks.get(layer.get("lengths")), built.get(layer.get("start"))
        if kind == "lstm" and start is None and name not in starts:
            return lstm(layer, values[0], own, mask_input)
        built[name] = RecurrentLayer(layer, values[0], own, mask_input, start)
        return built[name]

    return run(wired(network["layers"]), InputLayer((None,) + tuple(network["input"]), name="input"), call)


class Trainer(plain.Trainer):
    """The stack of layers, and the two compiled functions: one step, and the evaluation of one batch."""

    def __init__(self, network, recipe, weights, device, seed):
        plain.require(device)
        # The type of all that Lasagne makes.
        theano.config.floatX = recipe["precision"]
        lasagne.random.set_rng(np.random.RandomState(seed))
        arrays = {} if weights is None else {name: np.array(weights[name], recipe["precision"]) for name in weights}
        self.network, self.stack = network, build(network, arrays)
        self.examples = plain.Examples(network, recipe["precision"])
        self._step = self._compiled_step(recipe)
        self._apply = self._compiled_evaluation()

    def _compiled_step(self, recipe):
        number, settings = T.lscalar(), recipe["optimizer"]
        index = self.examples.order[number]
        logits = lasagne.layers.get_output(self.stack, self.examples.inputs[index])
        loss = plain.loss_of(self.network, logits, self.examples.labels[index])
        parameters = lasagne.layers.get_all_params(self.stack, trainable=True)
        gradients = T.grad(loss, parameters)
        if recipe.get("clip_norm"):
            # lasagne.updates.total_norm_constraint adds an epsilon to the norm, without which it divides by 0.
            gradients = clipped(gradients, recipe["clip_norm"])
        rate = self.examples.rates[number] if recipe.get("schedule") else settings["learning_rate"]
        updates = OPTIMIZERS[settings["kind"]](parameters, gradients, settings, rate)
        for layer in lasagne.layers.get_all_layers(self.stack):
            updates.update(getattr(layer, "moved", []))
        self.compile_step = partial(theano.function, [number], loss, updates=updates)
        return self.compile_step()

    def _compiled_evaluation(self):
        inputs = self.examples.inputs.type()
        return theano.function([inputs], lasagne.layers.get_output(self.stack, inputs, deterministic=True))

    def parameters(self):
        # Lasagne names them layer.W and so on; their layouts are the canonical ones, but for an LSTM's gates, each of
        # which has some of the canonical columns.
        shapes = {}
        for parameter in lasagne.layers.get_all_params(self.stack, trainable=True):
            layer, role = parameter.name.split(".")
            shape = parameter.get_value(borrow=True).shape
            name = "%s.%s" % (layer, ROLES.get(role, role))
            shapes[name] = shape[:-1] + (shape[-1] + shapes[name][-1],) if name in shapes else shape
        return shapes

    def describe(self):
        layers = lasagne.layers.get_all_layers(self.stack)
        return "\n".join("%-10s %s %s" % (layer.name, type(layer).__name__, layer.output_shape) for layer in layers)
