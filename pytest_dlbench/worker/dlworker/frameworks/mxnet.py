"""MXNet: a Gluon HybridSequential, hybridized into one static graph, and gluon.Trainer for the update."""

import mxnet as mx
import numpy as np
from mxnet import autograd, gluon, nd
from mxnet.gluon import nn

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
PRECISIONS = ("float32", "float64")


def configure(threads):
    """Nothing: the engine's threads take OMP_NUM_THREADS, which the driver set before this Python started."""


def threads():
    """OpenMP's number in the library that MXNet computes with."""
    # It has no function of its own that tells it; libmxnet's handle also finds the functions of its OpenMP.
    return int(mx.base._LIB.omp_get_max_threads())


def versions():
    """MXNet alone: OpenBLAS and oneDNN are inside and do not tell theirs."""
    return {"mxnet": mx.__version__}


class Pad2D(gluon.HybridBlock):
    """Padding that differs between the sides, which no layer of Gluon does itself."""

    def __init__(self, padding, value, **kwargs):
        super().__init__(**kwargs)
        (top, bottom), (left, right) = padding
        self.width, self.value = (0, 0, 0, 0, top, bottom, left, right), value

    def hybrid_forward(self, F, x):  # noqa: N803 - Gluon's own name for nd or sym
        return F.pad(x, mode="constant", pad_width=self.width, constant_value=self.value)

    def __repr__(self):
        return "Pad2D(%s, %s)" % (self.width[4:], self.value)


class CountedAvgPool2D(gluon.HybridBlock):
    """Average pooling behind a Pad2D that takes the padding out of the mean again."""

    def __init__(self, pool, pad, **kwargs):
        super().__init__(**kwargs)
        self.pad, self.pool = pad, pool

    def hybrid_forward(self, F, x):  # noqa: N803
        one = F.ones_like(F.slice(x, begin=(0, 0, None, None), end=(1, 1, None, None)))
        return F.broadcast_div(self.pool(self.pad(x)), self.pool(self.pad(one)))


def conv2d(layer):
    padding, before = _padding(layer, 0.0)
    conv = nn.Conv2D(
        layer["output"][0],
        layer["kernel"],
        strides=layer["stride"],
        padding=padding,
        use_bias=layer["bias"],
        in_channels=layer["input"][0],
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


def dense(layer):
    return [nn.Dense(layer["output"][0], use_bias=layer["bias"], in_units=layer["input"][0])]


LAYERS = {
    "conv2d": conv2d,
    "max_pool": max_pool,
    "avg_pool": avg_pool,
    "batch_norm": batch_norm,
    "dense": dense,
    "flatten": lambda layer: [nn.Flatten()],
    "dropout": lambda layer: [nn.Dropout(layer["rate"])],
    "relu": lambda layer: [nn.Activation("relu")],
    "tanh": lambda layer: [nn.Activation("tanh")],
    "sigmoid": lambda layer: [nn.Activation("sigmoid")],
}


def _padding(layer, value):
    """The padding that the operator does itself, and the block that must come before it."""
    if all(first == last for first, last in layer["padding"]):
        return [first for first, _ in layer["padding"]], []
    return (0, 0), [Pad2D(layer["padding"], value)]


def build(network):
    """The neutral network as a HybridSequential, and the block of every layer by the layer's name."""
    net, blocks = nn.HybridSequential(), {}
    for layer in network["layers"]:
        if layer["kind"] not in LAYERS:
            raise RequestError("unsupported", "the MXNet builder has no layer %r" % layer["kind"])
        built = LAYERS[layer["kind"]](layer)
        for block in built[:-1]:
            net.register_child(block, "%s_pad" % layer["name"])
        net.register_child(built[-1], layer["name"])
        blocks[layer["name"]] = built[-1]
    return net, blocks


class RunningStatistics:
    """Mean and variance of every BatchNorm over all batches, in one array.

    MXNet's operator moves the running variance towards the batch's biased one, and keeps the decay as a float32.
    """

    def __init__(self, blocks, layers):
        self.layers = [layer for layer in layers if layer["kind"] == "batch_norm"]
        norms = [blocks[layer["name"]] for layer in self.layers]
        self.parameters = [p for norm in norms for p in (norm.running_mean, norm.running_var)]
        self.values = self._of_batch() if norms else None

    def _of_batch(self):
        return nd.concat(*[parameter.data() for parameter in self.parameters], dim=0)

    def expect(self, batch_size):
        """Work out what share the old values and those of a batch have from now on."""
        kept, moved = [], []
        for layer in self.layers:
            channels, decay = layer["input"][0], layer["decay"]
            count = batch_size * int(np.prod(layer["input"][1:]))
            kept += [decay] * 2 * channels
            moved += [1 - decay] * channels + [(1 - decay) * count / (count - 1)] * channels
        if self.layers:
            self.kept, self.moved = (nd.array(a, self.values.context, self.values.dtype) for a in (kept, moved))

    def move(self):
        """Towards the statistics that the backward pass left in the operators, once it is known to have ended.

        With static_shape the engine does not know that it writes them: even wait_to_read does not wait for that.
        """
        if self.layers:
            self.values *= self.kept
            self.values += self.moved * self._of_batch()
            nd.waitall()

    def install(self):
        """Where inference takes them from; the next step writes over them."""
        first = 0
        for parameter in self.parameters:
            last = first + parameter.shape[0]
            parameter.set_data(self.values[first:last])
            first = last


class DecayedNAG(mx.optimizer.NAG):
    """NAG with the weight decay in the whole gradient; MXNet's own has it in the velocity only."""

    def __init__(self, decay, **kwargs):
        super().__init__(**kwargs)
        self.decay = decay

    def update_multi_precision(self, index, weight, grad, state):
        grad += self.decay * weight
        super().update_multi_precision(index, weight, grad, state)


class PreciseSGD(mx.optimizer.Optimizer):
    """SGD for float64: MXNet's fused updates keep rate, momentum and decay as float32, whatever the weights are."""

    def __init__(self, momentum, nesterov, **kwargs):
        super().__init__(**kwargs)
        self.momentum, self.nesterov = momentum, nesterov

    def create_state(self, index, weight):
        return nd.zeros_like(weight)

    def update(self, index, weight, grad, state):
        grad += self.wd * weight
        state *= self.momentum
        state += grad
        weight -= self.lr * (grad + self.momentum * state if self.nesterov else state)


def _optimizer(settings, precision):
    if settings["kind"] != "sgd":
        raise RequestError("unsupported", "the MXNet builder has no optimiser %r" % settings["kind"])
    rate, momentum, decay = (settings[name] for name in ("learning_rate", "momentum", "weight_decay"))
    if precision == "float64":
        return PreciseSGD(momentum, settings["nesterov"], learning_rate=rate, wd=decay)
    if not settings["nesterov"]:
        return mx.optimizer.SGD(learning_rate=rate, momentum=momentum, wd=decay)
    if decay:
        return DecayedNAG(decay, learning_rate=rate, momentum=momentum)
    return mx.optimizer.NAG(learning_rate=rate, momentum=momentum)


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


PARAMETERS = {"weight": "weight", "bias": "bias", "scale": "gamma", "shift": "beta"}


class Trainer:
    """The network, its optimiser and the examples, in one context."""

    hybrid = True

    def __init__(self, network, recipe, weights, device, seed):
        if recipe["precision"] not in PRECISIONS:
            raise RequestError("unsupported", "the MXNet builder has no precision %r" % recipe["precision"])
        mx.random.seed(seed)
        self.context, self.dtype, self.layers = _context(device, network), recipe["precision"], network["layers"]
        self.net, self.blocks = build(network)
        self.net.initialize(ctx=self.context)
        self.net.cast(self.dtype)
        if weights is not None:
            self._set(weights)
        self.loss = gluon.loss.SoftmaxCrossEntropyLoss()
        if self.hybrid:
            self.net.hybridize(static_alloc=True, static_shape=True)
            self.loss.hybridize()
        self.trainer = gluon.Trainer(self.net.collect_params(), _optimizer(recipe["optimizer"], self.dtype))
        self.statistics = RunningStatistics(self.blocks, self.layers)

    def _natives(self):
        """Canonical name, native parameter and whether the native layout is transposed."""
        for layer in self.layers:
            for role, attribute in PARAMETERS.items():
                parameter = getattr(self.blocks[layer["name"]], attribute, None)
                if parameter is not None:
                    # nn.Dense keeps (outputs, inputs); convolutions are canonical as they are.
                    yield "%s.%s" % (layer["name"], role), parameter, layer["kind"] == "dense" and role == "weight"

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
        self.images, self.labels = self._examples(inputs, labels)
        self.order = self._array(order, "int32")
        self.statistics.expect(self.order.shape[1])

    def _examples(self, images, labels):
        return self._array(images, self.dtype), self._array(labels, "int32")

    def step(self, number):
        index = self.order[number]
        x, y = self.images.take(index), self.labels.take(index)
        with autograd.record():
            loss = self.loss(self.net(x), y).mean()
        loss.backward()
        self.trainer.step(1)  # The loss is a mean already.
        # The loss is there before the update is: waiting for it alone would end a step in the middle of its work.
        nd.waitall()
        self.statistics.move()
        return loss.asscalar()

    def evaluate(self, inputs, labels, batch_size):
        self.statistics.install()
        images, labels = self._examples(inputs, labels)
        correct, total = 0, 0.0
        for first in range(0, len(labels), batch_size):
            x, y = images[first : first + batch_size], labels[first : first + batch_size]
            logits = self.net(x)
            correct += int((logits.argmax(axis=1).astype("int32") == y).sum().asscalar())
            total += float(self.loss(logits, y).sum().asscalar())
        return correct, total / len(labels)
