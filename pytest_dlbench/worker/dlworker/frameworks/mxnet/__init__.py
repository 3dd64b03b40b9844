"""MXNet: a Gluon HybridSequential or a custom block, hybridized into one static graph, and gluon.Trainer."""

import dlworker.nvidia_libraries  # noqa: F401  # isort: skip - MXNet needs them when it is imported

import mxnet as mx
from mxnet import autograd, gluon, nd
from mxnet.gluon import rnn

from dlworker.frameworks.mxnet.blocks import Graph, RunningStatistics
from dlworker.frameworks.mxnet.execution import EXECUTION, set_execution
from dlworker.frameworks.mxnet.layers import KINDS, build
from dlworker.frameworks.mxnet.losses import LOSSES
from dlworker.frameworks.mxnet.optimizers import OPTIMIZERS, clip, optimizer
from dlworker.frameworks.mxnet.precision import MIXED, require
from dlworker.protocol import RequestError

__all__ = ["SUPPORTS", "Trainer", "configure", "set_execution", "threads", "versions"]

SUPPORTS = {*KINDS, *LOSSES, *OPTIMIZERS, *MIXED, *EXECUTION, "schedule", "clip_norm", "lengths", "start", "pipeline"}
PRECISIONS = {"float32", "float64", *MIXED}


def configure(threads):
    """Does nothing: the engine reads OMP_NUM_THREADS, which the driver set before this Python started."""


def threads():
    """The number of OpenMP threads in MXNet's native library."""
    # MXNet has no function for it; libmxnet's handle also finds the functions of its OpenMP.
    return int(mx.base._LIB.omp_get_max_threads())


def versions():
    """MXNet only: the bundled OpenBLAS and oneDNN do not report theirs."""
    return {"mxnet": mx.__version__}


def context_of(device):
    """mx.cpu() or mx.gpu(n), if this MXNet supports it."""
    if device == "cpu":
        return mx.cpu()
    number = int(device.partition(":")[2] or 0)
    if number >= mx.context.num_gpus():
        message = "device %r: MXNet %s sees %d GPUs" % (device, mx.__version__, mx.context.num_gpus())
        raise RequestError("unsupported", message)
    return mx.gpu(number)


# Where Gluon keeps an array, by canonical role; cells omit the number of the layer.
PARAMETERS = {"weight": "weight", "bias": "bias", "scale": "gamma", "shift": "beta"}
OF_CELLS = {"weight": "i2h_weight", "recurrent": "h2h_weight", "bias": "i2h_bias"}
OF_LSTM = {role: "l0_" + attribute for role, attribute in OF_CELLS.items()}
OF_GRU = dict(OF_LSTM, recurrent_bias="l0_h2h_bias")
PARAMETERS_OF = {rnn.LSTMCell: OF_CELLS, rnn.LSTM: OF_LSTM, rnn.GRU: OF_GRU}
# Kept as (outputs, inputs); convolutions are canonical already.
TRANSPOSED = {("dense", "weight"), ("lstm", "weight"), ("lstm", "recurrent"), ("gru", "weight"), ("gru", "recurrent")}


class Trainer:
    """The network, its optimiser and the examples, in one context."""

    hybrid = True
    exchanges = False  # Only several workers do.
    store = None  # Arguments of gluon.Trainer for the exchange between several devices.

    def computes_on(self):
        # MXNet reports no names of GPUs.
        return self.context.device_type, str(self.context)

    def peak_device_bytes(self):
        return None if self.context.device_type == "cpu" else "MXNet reports what is free on a GPU, not what it holds"

    def __init__(self, network, recipe, weights, device, seed):
        if recipe["precision"] not in PRECISIONS:
            raise RequestError("unsupported", "the MXNet builder does not support precision %r" % recipe["precision"])
        if recipe["precision"] in MIXED:
            require(device)
        self.is_detector = network["loss"] == "detection"
        if self.is_detector and recipe["precision"] in MIXED:
            raise RequestError("unsupported", "the MXNet builder has no detectors in %s" % recipe["precision"])
        mx.random.seed(seed)
        self.contexts, self.layers = self._contexts(device), network["layers"]
        self.context = self.contexts[0]
        self.dtype = "float64" if recipe["precision"] == "float64" else "float32"
        self.network = network
        self.net, self.blocks = build(network, recipe["precision"])
        self.net.initialize(ctx=self.contexts)
        self.net.cast(self.dtype)
        if weights is not None:
            self._set(weights)
        self.loss = LOSSES[network["loss"]](network, self.dtype)
        # What a detector trains its second stage on depends on the labels.
        self.trained_net = Graph(self.layers, self.net.blocks, self.dtype) if self.is_detector else self.net
        if self.hybrid:
            self.net.hybridize(static_alloc=True, static_shape=True)
            self.trained_net.hybridize(static_alloc=True, static_shape=True)
            self.loss.hybridize()
        parameters = self.net.collect_params()
        self.trained = [parameter for parameter in parameters.values() if parameter.grad_req != "null"]
        self.trainer = gluon.Trainer(parameters, optimizer(recipe), **(self.store or {}))
        self.clip_norm = recipe.get("clip_norm")
        self.statistics = RunningStatistics(self.blocks, self.layers)

    def _contexts(self, device):
        return [context_of(device)]

    def _natives(self):
        """Canonical name, native parameter and whether the native layout is transposed."""
        for layer in self.layers:
            if layer["kind"] == "tied_dense":
                continue
            block = self.blocks[layer["name"]]
            for role, attribute in PARAMETERS_OF.get(type(block), PARAMETERS).items():
                parameter = getattr(block, attribute, None)
                if parameter is not None:
                    yield "%s.%s" % (layer["name"], role), parameter, (layer["kind"], role) in TRANSPOSED

    def _set(self, weights):
        for name, parameter, transposed in self._natives():
            parameter.set_data(self._array(weights[name].T if transposed else weights[name], self.dtype))

    def _array(self, values, dtype):
        return nd.array(values, ctx=self.context, dtype=dtype)

    def parameters(self):
        return {name: tuple(p.shape[::-1] if t else p.shape) for name, p, t in self._natives()}

    def array(self, name):
        return next(p for known, p, _ in self._natives() if known == name).data().asnumpy()

    def describe(self):
        return str(self.net)

    def load(self, inputs, labels, order, rates=None):
        self.feed(inputs, labels)
        self.order, self.rates = self._array(order, "int32"), rates
        self.statistics.expect(self.order.shape[1])

    def stage(self, inputs, labels):
        """A batch in memory from which a GPU copies without the processor."""
        if self.context.device_type == "cpu":
            return inputs, labels
        arrays = zip((inputs, labels), self._types())
        return [nd.array(values, ctx=mx.cpu_pinned(self.context.device_id), dtype=dtype) for values, dtype in arrays]

    def feed(self, inputs, labels):
        if isinstance(inputs, nd.NDArray):
            # MXNet's engine queues the copy, and keeps its source until it is done.
            self.inputs, self.labels = (array.as_in_context(self.context) for array in (inputs, labels))
        else:
            arrays = zip((inputs, labels), self._types())
            self.inputs, self.labels = (self._array(values, dtype) for values, dtype in arrays)

    def _types(self):
        """The types of inputs and labels."""
        has_flags = self.is_detector or self.network["loss"] == "sigmoid_cross_entropy"
        return "int32" if "vocabulary" in self.network else self.dtype, self.dtype if has_flags else "int32"

    def _inputs(self, inputs):
        return self._array(inputs, self._types()[0])

    def step(self, number):
        loss = self.loss_of(*self.batch(number))
        loss.backward()
        self.set_rate(number)
        if self.exchanges:
            self.send_gradients()
        self.apply()
        # The loss is ready before the update: waiting for it alone would end a step in the middle of its work.
        nd.waitall()
        self.statistics.move()
        return loss.asscalar()

    def batch(self, number):
        """The inputs and labels of a step."""
        index = self.order[number]
        return self.inputs.take(index), self.labels.take(index)

    def loss_of(self, x, y):
        """The loss of a batch, recorded for the backward pass."""
        with autograd.record():
            losses = self.loss(self.trained_net(*((x, y) if self.is_detector else (x,))), y)
            return losses.mean() if self._counts(y) is None else losses.sum() / self._counts(y).sum()

    def set_rate(self, number):
        """Set the learning rate of a step, if it changes."""
        if self.rates is not None:
            self.trainer.set_learning_rate(float(self.rates[number]))

    def apply(self):
        """Update the parameters by their gradients."""
        if self.clip_norm:
            clip([parameter.grad() for parameter in self.trained], self.clip_norm)
        self.trainer.step(1)  # The loss is already a mean.

    def _counts(self, labels):
        """1 for each label that counts, 0 for each that is ignored."""
        ignored = self.network.get("ignored")
        return None if ignored is None else (labels != ignored).astype(self.dtype)

    def outputs(self, inputs, batch_size):
        self.statistics.install()
        inputs = self._inputs(inputs)
        for first in range(0, len(inputs), batch_size):
            yield self.net(inputs[first : first + batch_size]).asnumpy()
