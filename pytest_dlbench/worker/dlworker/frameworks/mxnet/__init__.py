"""MXNet: a Gluon HybridSequential or a block of one's own, hybridized into one static graph, and gluon.Trainer."""

from functools import partial

import mxnet as mx
from mxnet import autograd, gluon, nd
from mxnet.gluon import nn, rnn

from dlworker.frameworks.mxnet import optimizers as mxnet_optimizers
from dlworker.frameworks.mxnet import precision as mxnet_mixed
from dlworker.frameworks.mxnet.layers import (
    CountedAvgPool2D,
    Graph,
    LocalResponseNorm,
    Operator,
    PadChannels,
    RunningStatistics,
    uneven_padding,
)
from dlworker.frameworks.mxnet.losses import loss_of
from dlworker.graph import is_chain
from dlworker.protocol import RequestError

SUPPORTS = {
    "adadelta",
    "adam",
    "add",
    "avg_pool",
    "batch_norm",
    "bfloat16",
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
PRECISIONS = ("float32", "float64", "bfloat16")


def configure(threads):
    """Nothing: the engine's threads take OMP_NUM_THREADS, which the driver set before this Python started."""


def threads():
    """OpenMP's number in the library that MXNet computes with."""
    # It has no function of its own that tells it; libmxnet's handle also finds the functions of its OpenMP.
    return int(mx.base._LIB.omp_get_max_threads())


def versions():
    """MXNet alone: OpenBLAS and oneDNN are inside and do not tell theirs."""
    return {"mxnet": mx.__version__}


def conv2d(layer, kind=nn.Conv2D):
    padding, before = _padding(layer, 0.0)
    conv = kind(
        layer["output"][0],
        layer["kernel"],
        strides=layer["stride"],
        padding=padding,
        use_bias=layer["bias"],
        in_channels=layer["input"][0],
        groups=layer.get("groups", 1),
    )
    return before + [conv]


def max_pool(layer):
    padding, before = _padding(layer, -float("inf"))
    return before + [nn.MaxPool2D(layer["window"], strides=layer["stride"], padding=padding)]


def avg_pool(layer):
    padding, before = _padding(layer, 0.0)
    pool = nn.AvgPool2D(layer["window"], strides=layer["stride"], padding=padding, count_include_pad=False)
    return [CountedAvgPool2D(pool, pad) for pad in before] or [pool]


def batch_norm(layer):
    # Momentum 0 leaves the batch's own statistics in the running ones: see RunningStatistics.
    return [nn.BatchNorm(momentum=0.0, epsilon=layer["epsilon"], in_channels=layer["input"][0])]


def dense(layer, kind=nn.Dense):
    is_sequence = len(layer["input"]) == 2
    units, features = layer["output"][-1], layer["input"][-1]
    return [kind(units, flatten=not is_sequence, use_bias=layer["bias"], in_units=features)]


def recurrent(layer, gives_whole_state):
    """The fused layer; cells, unrolled, where another begins in all of the state that lies before the padding.

    MXNet has a bias more than an LSTM needs, which stays at zero and is not trained.
    """
    units, features = layer["units"], layer["input"][1]
    if layer["kind"] == "gru":
        return rnn.GRU(units, layout="NTC", input_size=features)
    if "lengths" in layer and gives_whole_state:
        cell = rnn.LSTMCell(units, input_size=features)
        cell.h2h_bias.grad_req = "null"
        return cell
    lstm = rnn.LSTM(units, layout="NTC", input_size=features)
    lstm.l0_h2h_bias.grad_req = "null"
    return lstm


LAYERS = {
    "add": lambda layer: [Operator("add_n")],
    "avg_pool": avg_pool,
    "batch_norm": batch_norm,
    "concat": lambda layer: [Operator("concat", dim=2 if len(layer["output"]) == 2 else 1)],
    "conv2d": conv2d,
    "cut": lambda layer: [Operator("slice_axis", axis=1, begin=layer["first"], end=layer["last"])],
    "dense": dense,
    "dropout": lambda layer: [nn.Dropout(layer["rate"])],
    "embedding": lambda layer: [nn.Embedding(layer["vocabulary"], layer["output"][-1])],
    "flatten": lambda layer: [nn.Flatten()],
    "grouped_conv2d": conv2d,
    "local_response_norm": lambda layer: [LocalResponseNorm(layer)],
    "log_softmax": lambda layer: [Operator("log_softmax", axis=-1)],
    "max_pool": max_pool,
    "pad_channels": lambda layer: [PadChannels(layer["added"])] if layer["added"] else [Operator("identity")],
    "relu": lambda layer: [nn.Activation("relu")],
    "sigmoid": lambda layer: [nn.Activation("sigmoid")],
    "tanh": lambda layer: [nn.Activation("tanh")],
}
in_bfloat16 = partial(conv2d, kind=mxnet_mixed.Conv2D)
IN_BFLOAT16 = {
    "conv2d": in_bfloat16,
    "grouped_conv2d": in_bfloat16,
    "dense": partial(dense, kind=mxnet_mixed.Dense),
}


def _padding(layer, value):
    """The padding that the operator does itself, and the block that must come before it."""
    if all(first == last for first, last in layer["padding"]):
        return [first for first, _ in layer["padding"]], []
    return (0, 0), [uneven_padding(layer["padding"], value)]


def build(network, precision):
    """The neutral network as a HybridSequential or a Graph, and the block of every layer by the layer's name."""
    layers, known = network["layers"], dict(LAYERS, **IN_BFLOAT16) if precision == "bfloat16" else LAYERS
    starts = {layer["start"] for layer in layers if "start" in layer}
    built = {}
    for layer in layers:
        if layer["kind"] in ("lstm", "gru"):
            built[layer["name"]] = [recurrent(layer, layer["name"] in starts)]
        else:
            built[layer["name"]] = known[layer["kind"]](layer)
    own = {name: blocks[-1] for name, blocks in built.items()}
    together = {name: _together(blocks) for name, blocks in built.items()}
    if precision == "bfloat16":
        return mxnet_mixed.Graph(layers, together, "float32"), own
    if not is_chain(layers) or any(layer["kind"] in ("lstm", "gru") for layer in layers):
        return Graph(layers, together, precision), own
    net = nn.HybridSequential()
    for name, blocks in built.items():
        for block in blocks[:-1]:
            net.register_child(block, "%s_pad" % name)
        net.register_child(blocks[-1], name)
    return net, own


def _together(blocks):
    if len(blocks) == 1:
        return blocks[0]
    net = nn.HybridSequential()
    net.add(*blocks)
    return net


def _context(device, network):
    """mx.cpu() or mx.gpu(n), if this MXNet has it."""
    if device == "cpu":
        return mx.cpu()
    number = int(device.partition(":")[2] or 0)
    if number >= mx.context.num_gpus():
        message = "device %r: MXNet %s sees %d GPUs" % (device, mx.__version__, mx.context.num_gpus())
        raise RequestError("unsupported", message)
    if any(layer["kind"] == "batch_norm" for layer in network["layers"]):
        # cuDNN moves it towards the unbiased variance, MXNet's own operator does not; MXNet picks one of them.
        raise RequestError("unsupported", "batch_norm on MXNet's GPU: its running variance is not the CPU's")
    return mx.gpu(number)


# Where Gluon keeps an array, by canonical role; cells leave out the number of the layer.
PARAMETERS = {"weight": "weight", "bias": "bias", "scale": "gamma", "shift": "beta"}
OF_CELLS = {"weight": "i2h_weight", "recurrent": "h2h_weight", "bias": "i2h_bias"}
OF_LSTM = {role: "l0_" + attribute for role, attribute in OF_CELLS.items()}
OF_GRU = dict(OF_LSTM, recurrent_bias="l0_h2h_bias")
PARAMETERS_OF = {rnn.LSTMCell: OF_CELLS, rnn.LSTM: OF_LSTM, rnn.GRU: OF_GRU}
# Kept as (outputs, inputs); convolutions are canonical as they are.
TRANSPOSED = {("dense", "weight"), ("lstm", "weight"), ("lstm", "recurrent"), ("gru", "weight"), ("gru", "recurrent")}


class Trainer:
    """The network, its optimiser and the examples, in one context."""

    hybrid = True

    def __init__(self, network, recipe, weights, device, seed):
        if recipe["precision"] not in PRECISIONS:
            raise RequestError("unsupported", "the MXNet builder has no precision %r" % recipe["precision"])
        if recipe["precision"] == "bfloat16":
            mxnet_mixed.require(device)
        mx.random.seed(seed)
        self.context, self.layers = _context(device, network), network["layers"]
        self.dtype = "float64" if recipe["precision"] == "float64" else "float32"
        self.network = network
        self.net, self.blocks = build(network, recipe["precision"])
        self.net.initialize(ctx=self.context)
        self.net.cast(self.dtype)
        if weights is not None:
            self._set(weights)
        self.loss = loss_of(network, self.dtype)
        if self.hybrid:
            self.net.hybridize(static_alloc=True, static_shape=True)
            self.loss.hybridize()
        parameters = self.net.collect_params()
        self.trained = [parameter for parameter in parameters.values() if parameter.grad_req != "null"]
        self.trainer = gluon.Trainer(parameters, mxnet_optimizers.optimizer(recipe))
        self.clip_norm = recipe.get("clip_norm")
        self.statistics = RunningStatistics(self.blocks, self.layers)

    def _natives(self):
        """Canonical name, native parameter and whether the native layout is transposed."""
        for layer in self.layers:
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

    def describe(self):
        return str(self.net)

    def load(self, inputs, labels, order, rates=None):
        self.feed(inputs, labels)
        self.order, self.rates = self._array(order, "int32"), rates
        self.statistics.expect(self.order.shape[1])

    def feed(self, inputs, labels):
        classes_or_not = self.dtype if self.network["loss"] == "sigmoid_cross_entropy" else "int32"
        self.inputs, self.labels = self._inputs(inputs), self._array(labels, classes_or_not)

    def _inputs(self, inputs):
        return self._array(inputs, "int32" if "vocabulary" in self.network else self.dtype)

    def step(self, number):
        index = self.order[number]
        x, y = self.inputs.take(index), self.labels.take(index)
        with autograd.record():
            losses = self.loss(self.net(x), y)
            loss = losses.mean() if self._counts(y) is None else losses.sum() / self._counts(y).sum()
        loss.backward()
        if self.clip_norm:
            mxnet_optimizers.clip([parameter.grad() for parameter in self.trained], self.clip_norm)
        if self.rates is not None:
            self.trainer.set_learning_rate(float(self.rates[number]))
        self.trainer.step(1)  # The loss is a mean already.
        # The loss is there before the update is: waiting for it alone would end a step in the middle of its work.
        nd.waitall()
        self.statistics.move()
        return loss.asscalar()

    def _counts(self, labels):
        """1 for each label that counts, where some do not."""
        ignored = self.network.get("ignored")
        return None if ignored is None else (labels != ignored).astype(self.dtype)

    def outputs(self, inputs, batch_size):
        self.statistics.install()
        inputs = self._inputs(inputs)
        for first in range(0, len(inputs), batch_size):
            yield self.net(inputs[first : first + batch_size]).asnumpy()
