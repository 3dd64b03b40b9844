"""CNTK 2: a graph of cntk.layers, trained by a Trainer that is fed a minibatch of NumPy arrays a step.

Images are channels first and dense weights (inputs, outputs): CNTK's own layout is the canonical one.
"""

import math
import warnings

import numpy as np

from dlworker.protocol import RequestError

with warnings.catch_warnings():
    # It warns of every Linux but Ubuntu 16.04, and of CUDA's libraries, which its CPU build does not use.
    warnings.simplefilter("ignore")
    import cntk as C  # noqa: N812 - the name it has in CNTK's own tutorials


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


def configure(threads):
    """Threads of its OpenMP runtime, which its own kernels and MKL use."""
    C.cntk_py.set_max_num_cputhreads(threads)


def threads():
    """The most threads of that runtime, as CNTK reads it back."""
    return C.cntk_py.get_max_num_cputhreads()


def versions():
    """CNTK alone: MKL and OpenMP are inside the wheel and tell no version."""
    return {"cntk": C.__version__.strip()}


# Every layer is a function (layer, x, settings) -> (output, {canonical role: parameter}).


def conv2d(layer, x, settings):
    automatic, x = _padded(layer, layer["kernel"], x, 0.0)
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
    units, init = layer["output"][0], _initializer(settings)
    product = C.layers.Dense(units, bias=layer["bias"], init=init, name=layer["name"])
    return product(x), _weight_and_bias(product, layer)


def _initializer(settings):
    # The default of cntk.layers. Its seed is the layer's own: with set_fixed_random_seed all layers would start alike.
    return C.glorot_uniform(seed=settings["seed"])


def _weight_and_bias(function, layer):
    return {"weight": function.W, "bias": function.b} if layer["bias"] else {"weight": function.W}


def max_pool(layer, x, settings):
    automatic, x = _padded(layer, layer["window"], x, -np.inf)
    window, stride = tuple(layer["window"]), tuple(layer["stride"])
    return C.layers.MaxPooling(window, strides=stride, pad=automatic, name=layer["name"])(x), {}


def avg_pool(layer, x, settings):
    automatic, padded = _padded(layer, layer["window"], x, 0.0)
    window, stride = tuple(layer["window"]), tuple(layer["stride"])
    pooled = C.layers.AveragePooling(window, strides=stride, pad=automatic, name=layer["name"])(padded)
    if padded is x:
        return pooled, {}
    # CNTK leaves out the padding that is its own; what C.pad added is counted as part of the image.
    return pooled * C.constant(_window_shares(layer, automatic), dtype=settings["dtype"]), {}


def _window_shares(layer, automatic):
    """For every output, the size of its window over the part of it that lies in the image, as 1×H×W."""
    shares = [np.ones(size) for size in layer["output"][1:]]
    for axis in (0, 1):
        if not automatic[axis]:
            size, window, stride = layer["input"][1 + axis], layer["window"][axis], layer["stride"][axis]
            first = np.arange(layer["output"][1 + axis]) * stride - layer["padding"][axis][0]
            shares[axis] = window / (np.minimum(first + window, size) - np.maximum(first, 0))
    return np.outer(*shares)[np.newaxis]


def _padded(layer, window, x, value):
    """For rows and columns, whether CNTK's own padding is the wanted one; and x with what it does not pad itself."""
    axes = zip(layer["input"][1:], window, layer["stride"], layer["padding"], layer["output"][1:])
    automatic = tuple(_pads_itself(*axis) for axis in axes)
    sides = [(0, 0) if own else tuple(pad) for own, pad in zip(automatic, layer["padding"])]
    if not any(map(any, sides)):
        return automatic, x
    return automatic, C.pad(x, [(0, 0)] + sides, constant_value=value)


def _pads_itself(size, window, stride, padding, outputs):
    """Is this what pad=True means? It is faster than C.pad, and never counts nor takes a padded value in pooling."""
    # CNTK gives ceil(size / stride) outputs and centres the windows, with its own rounding.
    rest = size - 1 - (outputs - 1) * stride
    before = (window - 1) // 2 - rest // 2
    fits = outputs == -(-size // stride) and window <= size
    return any(padding) and fits and before == padding[0]


def batch_norm(layer, x, settings):
    channels, dtype = layer["input"][:1], settings["dtype"]
    scale, shift = C.parameter(channels, init=1, dtype=dtype), C.parameter(channels, init=0, dtype=dtype)
    # cntk.layers starts from a variance of 0 and a count of 0, which makes the first batch the whole of the running
    # statistics (and an evaluation before it an error). Counted from 1, they start where they are and then decay.
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


def dropout(layer, x, settings):
    return C.layers.Dropout(layer["rate"], seed=settings["seed"], name=layer["name"])(x), {}


def _function(function):
    return lambda layer, x, settings: (function(x, name=layer["name"]), {})


LAYERS = {
    "conv2d": conv2d,
    "dense": dense,
    "max_pool": max_pool,
    "avg_pool": avg_pool,
    "batch_norm": batch_norm,
    "dropout": dropout,
    "flatten": lambda layer, x, settings: (C.reshape(x, layer["output"], name=layer["name"]), {}),
    "relu": _function(C.relu),
    "tanh": _function(C.tanh),
    "sigmoid": _function(C.sigmoid),
}


def build(network, x, dtype, batch_size, seed):
    """The logits of x, and every parameter by its canonical name."""
    parameters = {}
    for position, layer in enumerate(network["layers"]):
        if layer["kind"] not in LAYERS:
            raise RequestError("unsupported", "the CNTK builder has no layer %r" % layer["kind"])
        settings = {"dtype": dtype, "batch_size": batch_size, "seed": 1000 * seed + position}
        x, own = LAYERS[layer["kind"]](layer, x, settings)
        parameters.update(("%s.%s" % (layer["name"], role), parameter) for role, parameter in own.items())
    return x, parameters


def _learner(parameters, settings, batch_size):
    if settings["kind"] != "sgd":
        raise RequestError("unsupported", "the CNTK builder has no optimiser %r" % settings["kind"])
    # The trainer sums gradients over a minibatch: a rate that is said to be for one of this size makes it the mean.
    rate = C.learning_parameter_schedule(settings["learning_rate"], minibatch_size=batch_size)
    decay = settings["weight_decay"]
    if not settings["momentum"]:
        return C.sgd(parameters, rate, l2_regularization_weight=decay)
    momentum = C.momentum_schedule(settings["momentum"], minibatch_size=batch_size)
    kind = C.nesterov if settings["nesterov"] else C.momentum_sgd
    # By default the momentum has unit gain: the gradient would be scaled by 1 - momentum.
    return kind(parameters, rate, momentum, unit_gain=False, l2_regularization_weight=decay)


class Trainer:
    """The graph, its trainer and the examples."""

    def __init__(self, network, recipe, weights, device, seed):
        if device != "cpu":
            raise RequestError("unsupported", "CNTK is installed as its CPU build, which has no device %r" % device)
        C.device.try_set_default_device(C.device.cpu())
        self.dtype, self.classes = np.dtype(recipe["precision"]).type, network["classes"]
        with C.default_options(dtype=self.dtype):
            self.x, self.y = C.input_variable(network["input"]), C.input_variable(self.classes)
            self.logits, self.weights = build(network, self.x, self.dtype, recipe["batch_size"], seed)
        self._set(weights)
        self.loss = C.cross_entropy_with_softmax(self.logits, self.y)
        learner = _learner(self.logits.parameters, recipe["optimizer"], recipe["batch_size"])
        self.trainer = C.Trainer(self.logits, (self.loss, None), [learner])
        # Out of a trainer, dropout is off and batch normalisation takes the running statistics.
        self.found = C.combine([self.logits, self.loss])

    def _set(self, weights):
        for name, parameter in self.weights.items():
            if weights is not None:
                # A bias of a convolution is one value for each channel, row 1, column 1.
                parameter.value = weights[name].astype(self.dtype).reshape(parameter.shape)

    def parameters(self):
        shapes = {name: parameter.shape for name, parameter in self.weights.items()}
        return {name: shape[:1] if name.endswith(".bias") else shape for name, shape in shapes.items()}

    def describe(self):
        functions = C.logging.graph.depth_first_search(self.logits, lambda node: isinstance(node, C.Function), depth=0)
        return "\n".join(str(function) for function in reversed(functions))

    def load(self, inputs, labels, order, rates=None):
        # CNTK has no data sets on its device: a minibatch is copied from NumPy arrays in each step.
        self.images, self.labels = self._examples(inputs, labels)
        self.order = np.array(order, dtype=np.int64)

    def _examples(self, images, labels):
        return np.array(images, dtype=self.dtype), np.eye(self.classes, dtype=self.dtype)[labels]

    def step(self, number):
        index = self.order[number]
        self.trainer.train_minibatch({self.x: self.images[index], self.y: self.labels[index]})
        return self.trainer.previous_minibatch_loss_average

    def evaluate(self, inputs, labels, batch_size):
        inputs, targets = self._examples(inputs, labels)
        correct, total = 0, 0.0
        for first in range(0, len(labels), batch_size):
            batch = slice(first, first + batch_size)
            found = self.found.eval({self.x: inputs[batch], self.y: targets[batch]})
            correct += int((found[self.logits.output].argmax(1) == labels[batch]).sum())
            total += float(found[self.loss.output].sum(dtype=np.float64))
        return correct, total / len(labels)
