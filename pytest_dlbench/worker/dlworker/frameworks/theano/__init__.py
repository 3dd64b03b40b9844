"""Theano 1.0 and Theano-PyMC 1.1: one symbolic graph, which theano.function compiles to C when the network is built."""

import ctypes
import glob
import os
from collections import OrderedDict
from functools import partial
from importlib.util import find_spec

import numpy as np

from dlworker.protocol import RequestError


def _openblas():
    """SciPy's OpenBLAS, with the plain names (sgemm_) that Theano's C code calls; NumPy's has 64-bit integers."""
    packages = os.path.dirname(os.path.dirname(np.__file__))
    found = sorted(glob.glob(os.path.join(packages, "scipy.libs", "libopenblas*.so")))
    return found[0] if found and "ldflags" not in os.environ.get("THEANO_FLAGS", "") else None


def _flags():
    """What Theano cannot detect itself, followed by the given THEANO_FLAGS: of two values the last one counts."""
    # Without OpenMP, pooling has one thread, and convolution only those of BLAS, for one image at a time.
    flags = ["openmp=%s" % (os.environ.get("OMP_NUM_THREADS", "1") != "1")]
    if OPENBLAS:
        # Theano looks for BLAS in NumPy's configuration, as it was until 1.21, and fails at import with a newer NumPy.
        folder, name = os.path.split(OPENBLAS)
        package = find_spec("theano").submodule_search_locations[0]
        spelling = "blas.ldflags" if os.path.isdir(os.path.join(package, "gof")) else "blas__ldflags"
        flags.append("%s='-L%s -l%s'" % (spelling, folder, name[len("lib") : -len(".so")]))
    return ",".join(flags + [os.environ.get("THEANO_FLAGS", "")])


# Theano reads both variables at import. A user's ~/.theanorc must not change what is measured.
OPENBLAS = _openblas()
os.environ["THEANO_FLAGS"] = _flags()
os.environ.setdefault("THEANORC", os.devnull)

import theano  # noqa: E402 - it reads the variables above
import theano.tensor as T  # noqa: E402, N812 - the name it has in Theano's own documentation
from theano.configdefaults import gcc_version_str  # noqa: E402
from theano.tensor.elemwise import Elemwise  # noqa: E402

from dlworker.frameworks.theano.layers import KINDS, RandomStreams, Training, apply  # noqa: E402
from dlworker.frameworks.theano.losses import LOSSES  # noqa: E402
from dlworker.frameworks.theano.optimizers import OPTIMIZERS, clipped  # noqa: E402
from dlworker.frameworks.theano.weights import first_statistics, own_weights  # noqa: E402

EXECUTION = ("library=openblas",)
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
    """Threads that the libraries of the compiled code report: OpenBLAS and OpenMP. None with another BLAS."""
    if OPENBLAS is None:
        return None
    blas = ctypes.CDLL(OPENBLAS).openblas_get_num_threads()
    return max(blas, ctypes.CDLL("libgomp.so.1").omp_get_max_threads()) if theano.config.openmp else blas


def set_execution(execution, device):
    """Refuse what compiled code is not linked to; that was decided before Theano was imported."""
    if "library=openblas" in execution and OPENBLAS is None:
        reason = "Theano links to another BLAS: THEANO_FLAGS has ldflags, or SciPy's wheel has no OpenBLAS"
        raise RequestError("unsupported", reason)


def versions():
    """Theano, the compiler of its C code and the BLAS it links."""
    found = {"theano": theano.__version__, "gcc": gcc_version_str}
    if OPENBLAS is not None:
        get_config = ctypes.CDLL(OPENBLAS).openblas_get_config
        get_config.restype = ctypes.c_char_p
        found["openblas"] = get_config().decode().split()[1]
    return found


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
