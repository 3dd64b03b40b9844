"""Theano 1.0 and Theano-PyMC 1.1: one symbolic graph, which theano.function compiles to C when the network is built."""

import ctypes
import glob
import os
from collections import OrderedDict
from importlib.util import find_spec
from typing import NamedTuple

import numpy as np

from dlworker.protocol import RequestError

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


def _openblas():
    """SciPy's own OpenBLAS. It has the plain names (sgemm_) that Theano's C code calls; NumPy's has 64-bit integers."""
    packages = os.path.dirname(os.path.dirname(np.__file__))
    found = sorted(glob.glob(os.path.join(packages, "scipy.libs", "libopenblas*.so")))
    return found[0] if found and "ldflags" not in os.environ.get("THEANO_FLAGS", "") else None


def _flags():
    """What Theano cannot find out by itself, then THEANO_FLAGS as it was given: of two values the last one counts."""
    # Without OpenMP pooling has one thread, and convolution only those of BLAS, for one image at a time.
    flags = ["openmp=%s" % (os.environ.get("OMP_NUM_THREADS", "1") != "1")]
    if OPENBLAS:
        # Theano looks for BLAS where NumPy told of it until 1.21, and fails at import with a newer NumPy.
        folder, name = os.path.split(OPENBLAS)
        package = find_spec("theano").submodule_search_locations[0]
        spelling = "blas.ldflags" if os.path.isdir(os.path.join(package, "gof")) else "blas__ldflags"
        flags.append("%s='-L%s -l%s'" % (spelling, folder, name[len("lib") : -len(".so")]))
    return ",".join(flags + [os.environ.get("THEANO_FLAGS", "")])


# Theano reads both variables when it is imported. Nobody's ~/.theanorc is to change what is measured.
OPENBLAS = _openblas()
os.environ["THEANO_FLAGS"] = _flags()
os.environ.setdefault("THEANORC", os.devnull)

import theano  # noqa: E402 - it reads the variables above
import theano.tensor as T  # noqa: E402, N812 - the name it has in Theano's own documentation
from theano.configdefaults import gcc_version_str  # noqa: E402
from theano.gradient import DisconnectedType  # noqa: E402
from theano.sandbox import rng_mrg  # noqa: E402
from theano.tensor.elemwise import Elemwise  # noqa: E402
from theano.tensor.signal import pool  # noqa: E402

# Theano-PyMC has renamed it.
RandomStreams = getattr(rng_mrg, "MRG_RandomStreams", None) or rng_mrg.MRG_RandomStream
_elementwise_code = Elemwise.c_code


def _formatted(self, *arguments):
    """Theano-PyMC 1.1.2 forgot the f of an f-string, so that nothing compiles with OpenMP. Theano has no such text."""
    least = str(theano.config.openmp_elemwise_minsize)
    return _elementwise_code(self, *arguments).replace("{int(config.openmp_elemwise_minsize)}", least)


Elemwise.c_code = _formatted


def configure(threads):
    """BLAS and OpenMP read OMP_NUM_THREADS, which the driver set before this Python started."""


def threads():
    """Threads that the libraries behind the compiled code tell: OpenBLAS, and OpenMP's. None with another BLAS."""
    if OPENBLAS is None:
        return None
    blas = ctypes.CDLL(OPENBLAS).openblas_get_num_threads()
    return max(blas, ctypes.CDLL("libgomp.so.1").omp_get_max_threads()) if theano.config.openmp else blas


def versions():
    """Theano, the compiler of its C code and the BLAS that it is linked with."""
    found = {"theano": theano.__version__, "gcc": gcc_version_str}
    if OPENBLAS is not None:
        told = ctypes.CDLL(OPENBLAS).openblas_get_config
        told.restype = ctypes.c_char_p
        found["openblas"] = told().decode().split()[1]
    return found


class FirstMaxPoolGrad(pool.MaxPoolGrad):
    """The gradient goes to the first of several equal values in a window; Theano's own gives it to each of them.

    Equal values are no accident: wherever an image is blank, all values of a channel are the same.
    """

    def c_code(self, node, name, inp, out, sub):
        code = pool.MaxPoolGrad.c_code(self, node, name, inp, out, sub)
        given = "gx[0] = gx[0] + gz[0];"
        assert code.count(given) == 1
        # Nothing equals NaN: the rest of the window gets nothing.
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
    """Images with rows and columns of one value around them."""
    (top, bottom), (left, right) = padding
    rows, columns = x.shape[2], x.shape[3]
    shape = (x.shape[0], x.shape[1], rows + top + bottom, columns + left + right)
    ground = T.alloc(np.array(value, x.dtype), *shape)
    return T.set_subtensor(ground[:, :, top : top + rows, left : left + columns], x)


class Training(NamedTuple):
    """What training has and evaluation has not: random numbers, and updates that are not the optimiser's."""

    random: RandomStreams
    updates: OrderedDict


# Every layer is a function (layer, shared variables by role, x, training or None) -> x.


def conv2d(layer, own, x, training):
    # Theano would flip the filters, as a mathematical convolution does.
    padding = tuple(tuple(sides) for sides in layer["padding"])
    x = T.nnet.conv2d(x, own["weight"], border_mode=padding, subsample=tuple(layer["stride"]), filter_flip=False)
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
    # Theano has no gradient for a mean that leaves out the padding.
    total = pool.pool_2d(padded(x, layer["padding"], 0.0), window, ignore_border=True, stride=stride, mode="sum")
    return total / covered(layer).astype(x.dtype)


def covered(layer):
    """How many values of the image each window covers, in every channel of every image."""
    along = []
    for axis in (0, 1):
        size, starts = layer["input"][1 + axis], np.arange(layer["output"][1 + axis]) * layer["stride"][axis]
        starts -= layer["padding"][axis][0]
        along.append(np.minimum(starts + layer["window"][axis], size) - np.maximum(starts, 0))
    return np.outer(*along)[np.newaxis, np.newaxis]


def relu(layer, own, x, training):
    # T.nnet.relu and T.maximum have a gradient at 0, which is where blank images are before the first update.
    return x * (x > 0)


def dropout(layer, own, x, training):
    if training is None or not layer["rate"]:
        return x
    keep = 1.0 - layer["rate"]
    return x * training.random.binomial(x.shape, p=keep, dtype=x.dtype) / keep


def batch_norm(layer, own, x, training):
    """T.nnet.bn has the same graph, but refuses an epsilon of 1e-5, which is a little less in float32."""
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


LAYERS = {
    "conv2d": conv2d,
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


def apply(layers, variables, x, training):
    """The output of each layer, by its name."""
    outputs = OrderedDict()
    for layer in layers:
        if layer["kind"] not in LAYERS:
            raise RequestError("unsupported", "the Theano builder has no layer %r" % layer["kind"])
        x = outputs[layer["name"]] = LAYERS[layer["kind"]](layer, variables.get(layer["name"]), x, training)
    return outputs


def _own_weights(layers, random):
    """Theano has no layers, so no defaults either: uniform weights (Glorot and Bengio), as in its tutorials."""
    for layer in layers:
        name, inputs, outputs = layer["name"], layer["input"][0], layer["output"][0]
        if layer["kind"] in ("conv2d", "dense"):
            window = layer.get("kernel", [])
            bound = np.sqrt(6.0 / ((inputs + outputs) * np.prod(window)))
            shape = [outputs, inputs] + window if window else [inputs, outputs]
            yield name + ".weight", random.uniform(-bound, bound, shape)
        if layer["kind"] == "batch_norm":
            yield name + ".scale", np.ones(inputs)
            yield name + ".shift", np.zeros(inputs)
        elif layer.get("bias"):
            yield name + ".bias", np.zeros(outputs)


def _first_statistics(layers):
    for layer in layers:
        if layer["kind"] == "batch_norm":
            yield layer["name"] + ".mean", np.zeros(layer["input"][0])
            yield layer["name"] + ".variance", np.ones(layer["input"][0])


def sgd(loss, parameters, settings):
    """The updates of the parameters and of their velocities."""
    if settings["kind"] != "sgd":
        raise RequestError("unsupported", "the Theano builder has no optimiser %r" % settings["kind"])
    updates = OrderedDict()
    for parameter, gradient in zip(parameters, T.grad(loss, parameters)):
        step = velocity = gradient + settings["weight_decay"] * parameter if settings["weight_decay"] else gradient
        if settings["momentum"]:
            before = theano.shared(np.zeros_like(parameter.get_value()))
            velocity = updates[before] = settings["momentum"] * before + step
        step = step + settings["momentum"] * velocity if settings["nesterov"] else velocity
        updates[parameter] = parameter - settings["learning_rate"] * step
    return updates


def require(device):
    """Raise RequestError for what cannot be computed with."""
    if device != "cpu":
        raise RequestError("unsupported", "on a GPU Theano needs libgpuarray, which comes with no Python package")
    if not theano.config.cxx:
        raise RequestError("unsupported", "Theano found no C++ compiler (g++), and without one it only crawls")


def losses(logits, labels):
    # Theano knows this pair, and computes the logarithm of the softmax without the softmax.
    return T.nnet.categorical_crossentropy(T.nnet.softmax(logits), labels)


def shared(arrays, dtype):
    """{layer: {role: shared variable}} of canonical names and arrays; Theano's layouts are the canonical ones."""
    variables = {}
    for name, array in arrays:
        layer, role = name.split(".")
        variables.setdefault(layer, OrderedDict())[role] = theano.shared(np.array(array, dtype), name=name)
    return variables


class Trainer:
    """The shared variables, and the two compiled functions: one step, and the evaluation of one batch."""

    def __init__(self, network, recipe, weights, device, seed):
        require(device)
        # Python's own numbers get this type where they enter the graph.
        theano.config.floatX = self.dtype = recipe["precision"]
        layers, random = network["layers"], np.random.RandomState(seed)
        arrays = _own_weights(layers, random) if weights is None else weights.items()
        variables = shared(list(arrays) + list(_first_statistics(layers)), self.dtype)
        own = [item for layer in layers for item in variables.get(layer["name"], {}).items()]
        self.weights = [variable for role, variable in own if role not in ("mean", "variance")]
        self.images = theano.shared(np.zeros([0] + network["input"], self.dtype))
        self.labels, self.order = (theano.shared(np.zeros(shape, "int32")) for shape in ([0], [0, 0]))
        training = Training(RandomStreams(random.randint(1, 2**30)), OrderedDict())
        self._step = self._compiled_step(layers, variables, training, recipe["optimizer"])
        self._evaluate = _compiled_evaluation(layers, variables, self.images.type())

    def _compiled_step(self, layers, variables, training, optimizer):
        number = T.lscalar()
        index = self.order[number]
        self.outputs = apply(layers, variables, self.images[index], training)
        loss = losses(self.outputs[layers[-1]["name"]], self.labels[index]).mean()
        training.updates.update(sgd(loss, self.weights, optimizer))
        return theano.function([number], loss, updates=training.updates)

    def parameters(self):
        return {variable.name: variable.get_value(borrow=True).shape for variable in self.weights}

    def describe(self):
        return "\n".join("%-10s %s" % (name, output.owner) for name, output in self.outputs.items())

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


def _compiled_evaluation(layers, variables, images):
    labels = T.ivector()
    logits = apply(layers, variables, images, None)[layers[-1]["name"]]
    correct = T.eq(T.argmax(logits, axis=1), labels).sum()
    return theano.function([images, labels], [correct, losses(logits, labels).sum()])
