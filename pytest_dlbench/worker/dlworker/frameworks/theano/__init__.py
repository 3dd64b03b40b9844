"""Theano 1.0 and Theano-PyMC 1.1: one symbolic graph, which theano.function compiles to C when the network is built."""

import ctypes
from collections import OrderedDict
from functools import partial

import numpy as np

# Theano reads its settings when it is imported.
from dlworker.frameworks.theano import blas
from dlworker.protocol import RequestError

# isort: split
import theano
import theano.tensor as T  # noqa: N812 - the name it has in Theano's own documentation
from theano.configdefaults import gcc_version_str
from theano.tensor.elemwise import Elemwise

from dlworker.frameworks.theano.layers import KINDS, RandomStreams, Training, apply
from dlworker.frameworks.theano.losses import LOSSES
from dlworker.frameworks.theano.optimizers import OPTIMIZERS, clipped
from dlworker.frameworks.theano.weights import first_statistics, own_weights

EXECUTION = ("library=mkl", "library=openblas")
SUPPORTS = {*KINDS, *LOSSES, *OPTIMIZERS, *EXECUTION, "schedule", "clip_norm", "lengths", "start", "pipeline"}

_elementwise_code = Elemwise.c_code


def _formatted(self, *arguments):
    """Theano-PyMC 1.1.2 forgot the f of an f-string, so that nothing compiles with OpenMP. Theano is unaffected."""
    least = str(theano.config.openmp_elemwise_minsize)
    return _elementwise_code(self, *arguments).replace("{int(config.openmp_elemwise_minsize)}", least)


Elemwise.c_code = _formatted


def configure(threads):
    """Does nothing: BLAS and OpenMP read OMP_NUM_THREADS, which the driver set before this Python started."""


def threads():
    """Threads that the libraries of the compiled code report: BLAS and OpenMP. None with another BLAS."""
    of_blas = blas.threads()
    if of_blas is None or not theano.config.openmp:
        return of_blas
    return max(of_blas, ctypes.CDLL("libgomp.so.1").omp_get_max_threads())


def set_execution(execution, device):
    """Refuse what compiled code is not linked to; that was decided before Theano was imported."""
    for setting in execution:
        blas.require(setting[len("library=") :])


def versions():
    """Theano, the compiler of its C code and the BLAS it links."""
    return dict({"theano": theano.__version__, "gcc": gcc_version_str}, **blas.versions())


def require(device):
    """Raise RequestError if the device or the compiler is missing."""
    if device != "cpu":
        raise RequestError("unsupported", "on a GPU Theano needs libgpuarray, which no Python package provides")
    if not theano.config.cxx:
        raise RequestError("unsupported", "Theano found no C++ compiler (g++), without which it is extremely slow")


def shared(arrays, dtype):
    """{layer: {role: shared variable}} from canonical names and arrays; Theano's layouts are the canonical ones."""
    variables = {}
    for name, array in arrays:
        layer, role = name.split(".")
        variables.setdefault(layer, OrderedDict())[role] = theano.shared(np.array(array, dtype), name=name)
    return variables


class Examples:
    """The training examples, in shared variables: a compiled step selects its own."""

    def __init__(self, network, dtype):
        self.inputs_dtype = "int32" if "vocabulary" in network else dtype
        self.has_classes = network["loss"] == "softmax_cross_entropy"
        self.labels_dtype = dtype if network["loss"] == "sigmoid_cross_entropy" else "int32"
        self.inputs = theano.shared(np.zeros([0] + network["input"], self.inputs_dtype))
        self.labels = theano.shared(np.zeros([0] if self.has_classes else [0, 0], self.labels_dtype))
        self.order, self.rates = theano.shared(np.zeros([0, 0], "int32")), theano.shared(np.zeros([0], dtype))

    def arrays(self, inputs, labels):
        """Examples in the types of the graph; a single flag becomes a row, too."""
        labels = np.array(labels, self.labels_dtype)
        return np.array(inputs, self.inputs_dtype), labels if self.has_classes else labels.reshape(len(labels), -1)

    def load(self, inputs, labels, order, rates):
        self.feed(inputs, labels)
        self.order.set_value(np.array(order, "int32"), borrow=True)
        if rates is not None:
            self.rates.set_value(np.array(rates, self.rates.dtype), borrow=True)

    def feed(self, inputs, labels):
        inputs, labels = self.arrays(inputs, labels)
        self.inputs.set_value(inputs, borrow=True)
        self.labels.set_value(labels, borrow=True)


class Trainer:
    """The shared variables, and the two compiled functions: one step, and the evaluation of one batch."""

    def __init__(self, network, recipe, weights, device, seed):
        require(device)
        # Python numbers get this type when they enter the graph.
        theano.config.floatX = recipe["precision"]
        self.network, layers, random = network, network["layers"], np.random.RandomState(seed)
        arrays = own_weights(layers, random) if weights is None else weights.items()
        variables = shared(list(arrays) + list(first_statistics(layers)), recipe["precision"])
        own = [item for layer in layers for item in variables.get(layer["name"], {}).items()]
        self.weights = [variable for role, variable in own if role not in ("mean", "variance")]
        self.examples = Examples(network, recipe["precision"])
        training = Training(RandomStreams(random.randint(1, 2**30)), OrderedDict())
        self._step = self._compiled_step(variables, training, recipe)
        self._apply = self._compiled_evaluation(variables)

    def _compiled_step(self, variables, training, recipe):
        number, settings = T.lscalar(), recipe["optimizer"]
        index = self.examples.order[number]
        self.built = apply(self.network["layers"], variables, self.examples.inputs[index], training)
        logits = self.built[self.network["layers"][-1]["name"]]
        loss = LOSSES[self.network["loss"]](self.network, logits, self.examples.labels[index])
        gradients = T.grad(loss, self.weights)
        if recipe.get("clip_norm"):
            gradients = clipped(gradients, recipe["clip_norm"])
        rate = self.examples.rates[number] if recipe.get("schedule") else settings["learning_rate"]
        training.updates.update(OPTIMIZERS[settings["kind"]](self.weights, gradients, settings, rate))
        # Compiled again with other settings: see profile.py.
        self.compile_step = partial(theano.function, [number], loss, updates=training.updates)
        return self.compile_step()

    def _compiled_evaluation(self, variables):
        inputs = self.examples.inputs.type()
        outputs = apply(self.network["layers"], variables, inputs, None)
        return theano.function([inputs], outputs[self.network["layers"][-1]["name"]])

    def parameters(self):
        return {variable.name: variable.get_value(borrow=True).shape for variable in self.weights}

    def array(self, name):
        return next(variable for variable in self.weights if variable.name == name).get_value()

    def describe(self):
        return "\n".join("%-10s %s" % (name, output.owner) for name, output in self.built.items())

    def load(self, inputs, labels, order, rates=None):
        self.examples.load(inputs, labels, order, rates)

    def feed(self, inputs, labels):
        self.examples.feed(inputs, labels)

    def step(self, number):
        return self._step(number)

    def outputs(self, inputs, batch_size):
        inputs = np.array(inputs, self.examples.inputs_dtype)
        for first in range(0, len(inputs), batch_size):
            yield self._apply(inputs[first : first + batch_size])
