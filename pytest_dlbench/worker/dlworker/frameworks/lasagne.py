"""Lasagne 0.1 on Theano 1.0: a stack of its layers, whose output theano.function compiles when the network is built."""

import sys
import types

import numpy as np

# Theano must be told of its BLAS before it is imported: its builder does that.
from dlworker.frameworks import theano as plain
from dlworker.frameworks import theano_layers
from dlworker.protocol import RequestError

# isort: split
import theano
import theano.tensor as T  # noqa: N812 - the name it has in Theano's own documentation

SUPPORTS = {
    "avg_pool",
    "batch_norm",
    "conv2d",
    "dense",
    "dropout",
    "flatten",
    "max_pool",
    "relu",
    "sgd",
    "sigmoid",
    "softmax_cross_entropy",
    "tanh",
}


def max_pool_2d(images, ds, ignore_border, st, padding, mode):
    """What Lasagne calls for every pooling, in a module that Theano 1.0 no longer has."""
    return (plain.FirstMaxPool if mode == "max" else theano_layers.pool.Pool)(ignore_border, mode)(
        images, ds, st, padding
    )


downsample = types.ModuleType("theano.tensor.signal.downsample")
downsample.max_pool_2d = max_pool_2d
sys.modules[downsample.__name__] = downsample

import lasagne  # noqa: E402 - it imports the module above
from lasagne.layers import (  # noqa: E402
    Conv2DLayer,
    DenseLayer,
    DropoutLayer,
    FlattenLayer,
    InputLayer,
    Layer,
    MaxPool2DLayer,
    NonlinearityLayer,
    PadLayer,
    Pool2DLayer,
)

configure, threads = plain.configure, plain.threads


def versions():
    """Lasagne and what is below it."""
    return dict(plain.versions(), lasagne=lasagne.__version__)


class BatchNormLayer(Layer):
    """Lasagne has one since 0.2. This one keeps the unbiased variance, that one the inverse standard deviation."""

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


def rectify(x):
    """Lasagne's own has a gradient of one half at 0, which is where blank images are before the first update."""
    return x * (x > 0)


# Every layer is a function (layer, the Lasagne layer below, initial arrays by role or nothing) -> Lasagne layer.


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
    return Conv2DLayer(below, layer["output"][0], layer["kernel"], layer["stride"], pad, **options)


def dense(layer, below, given):
    return DenseLayer(below, layer["output"][0], **_w_and_b(layer, given))


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


LAYERS = {
    "conv2d": conv2d,
    "dense": dense,
    "max_pool": max_pool,
    "avg_pool": avg_pool,
    "batch_norm": batch_norm,
    "dropout": lambda layer, below, given: DropoutLayer(below, layer["rate"], name=layer["name"]),
    "flatten": lambda layer, below, given: FlattenLayer(below, name=layer["name"]),
    "relu": _activation(rectify),
    "tanh": _activation(lasagne.nonlinearities.tanh),
    "sigmoid": _activation(lasagne.nonlinearities.sigmoid),
}
ROLES = {"W": "weight", "b": "bias", "gamma": "scale", "beta": "shift"}


def build(network, arrays):
    """The last layer of the stack; each starts from its arrays, or as Lasagne has it."""
    stack = InputLayer([None] + network["input"], name="input")
    for layer in network["layers"]:
        if layer["kind"] not in LAYERS:
            raise RequestError("unsupported", "the Lasagne builder has no layer %r" % layer["kind"])
        given = {name.split(".")[1]: arrays[name] for name in arrays if name.split(".")[0] == layer["name"]}
        stack = LAYERS[layer["kind"]](layer, stack, given)
    return stack


def losses(logits, labels):
    return lasagne.objectives.categorical_crossentropy(lasagne.nonlinearities.softmax(logits), labels)


def sgd(loss, stack, settings):
    """The updates of the parameters and of their velocities."""
    if settings["kind"] != "sgd":
        raise RequestError("unsupported", "the Lasagne builder has no optimiser %r" % settings["kind"])
    if settings["weight_decay"]:
        every = {"trainable": True}
        penalty = lasagne.regularization.regularize_network_params(stack, lasagne.regularization.l2, every)
        loss = loss + 0.5 * settings["weight_decay"] * penalty
    parameters = lasagne.layers.get_all_params(stack, trainable=True)
    # Lasagne's velocity is ours times minus the learning rate, which never changes.
    if settings["nesterov"]:
        return lasagne.updates.nesterov_momentum(loss, parameters, settings["learning_rate"], settings["momentum"])
    if settings["momentum"]:
        return lasagne.updates.momentum(loss, parameters, settings["learning_rate"], settings["momentum"])
    return lasagne.updates.sgd(loss, parameters, settings["learning_rate"])


class Trainer:
    """The stack of layers, and the two compiled functions: one step, and the evaluation of one batch."""

    def __init__(self, network, recipe, weights, device, seed):
        plain.require(device)
        # The type of all that Lasagne makes.
        theano.config.floatX = self.dtype = recipe["precision"]
        lasagne.random.set_rng(np.random.RandomState(seed))
        arrays = {} if weights is None else {name: np.array(weights[name], self.dtype) for name in weights}
        self.stack = build(network, arrays)
        self.images = theano.shared(np.zeros([0] + network["input"], self.dtype))
        self.labels, self.order = (theano.shared(np.zeros(shape, "int32")) for shape in ([0], [0, 0]))
        self._step = self._compiled_step(recipe["optimizer"])
        self._evaluate = self._compiled_evaluation()

    def _compiled_step(self, optimizer):
        number = T.lscalar()
        index = self.order[number]
        logits = lasagne.layers.get_output(self.stack, self.images[index])
        loss = losses(logits, self.labels[index]).mean()
        updates = sgd(loss, self.stack, optimizer)
        for layer in lasagne.layers.get_all_layers(self.stack):
            updates.update(getattr(layer, "moved", []))
        return theano.function([number], loss, updates=updates)

    def _compiled_evaluation(self):
        images, labels = self.images.type(), T.ivector()
        logits = lasagne.layers.get_output(self.stack, images, deterministic=True)
        correct = T.eq(T.argmax(logits, axis=1), labels).sum()
        return theano.function([images, labels], [correct, losses(logits, labels).sum()])

    def parameters(self):
        # Lasagne names them layer.W and so on; their layouts are the canonical ones.
        parameters = lasagne.layers.get_all_params(self.stack, trainable=True)
        named = [(parameter.name.split("."), parameter.get_value(borrow=True).shape) for parameter in parameters]
        return {"%s.%s" % (layer, ROLES[role]): shape for (layer, role), shape in named}

    def describe(self):
        layers = lasagne.layers.get_all_layers(self.stack)
        return "\n".join("%-10s %s %s" % (layer.name, type(layer).__name__, layer.output_shape) for layer in layers)

    def load(self, inputs, labels, order, rates=None):
        self.images.set_value(np.array(inputs, self.dtype), borrow=True)
        self.labels.set_value(np.array(labels, "int32"), borrow=True)
        self.order.set_value(np.array(order, "int32"), borrow=True)

    def step(self, number):
        return self._step(number)

    def evaluate(self, inputs, labels, batch_size):
        correct, total = 0, 0.0
        for first in range(0, len(labels), batch_size):
            batch = slice(first, first + batch_size)
            right, loss = self._evaluate(np.array(inputs[batch], self.dtype), np.array(labels[batch], "int32"))
            correct, total = correct + int(right), total + float(loss)
        return correct, total / len(labels)
