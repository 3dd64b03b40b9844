"""Every kind of layer in Paddle, written here where its own is missing, differs or rounds to float32; the network."""

from functools import partial

import paddle
import paddle.nn.functional as F  # noqa: N812 - the name it has in Paddle's own documentation
from paddle import nn

from dlworker.frameworks.paddle.detection import Detections, RegionProposals, RoIAlign
from dlworker.graph import is_chain, run, wired
from dlworker.protocol import RequestError


class BatchNorm(nn.Layer):
    """Batch normalisation that keeps its running statistics itself.

    Paddle's own layer keeps the biased variance on the CPU, and on a GPU cuDNN's unbiased one.
    """

    def __init__(self, layer):
        super().__init__()
        self.decay, self.epsilon = layer["decay"], layer["epsilon"]
        size = layer["input"][:1]
        self.weight = self.create_parameter(size, default_initializer=nn.initializer.Constant(1.0))
        self.bias = self.create_parameter(size, is_bias=True)
        for name in ("mean", "batch_mean", "batch_variance"):
            self.register_buffer(name, paddle.zeros(size))
        self.register_buffer("variance", paddle.ones(size))
        self.keeps_biased = _keeps_biased_variance(len(layer["input"]))

    def forward(self, x):
        if not self.training:
            return F.batch_norm(x, self.mean, self.variance, self.weight, self.bias, epsilon=self.epsilon)
        y = _normalise(x, self.batch_mean, self.batch_variance, self.weight, self.bias, self.epsilon)
        self._move(self.batch_mean, self.batch_variance, _unbias(x) if self.keeps_biased else 1.0)
        return y

    @paddle.no_grad()
    def _move(self, mean, variance, unbias):
        self.mean.scale_(self.decay).add_(mean * (1 - self.decay))
        self.variance.scale_(self.decay).add_(variance * ((1 - self.decay) * unbias))

    def extra_repr(self):
        return "%d, decay=%r, epsilon=%r" % (self.mean.shape[0], self.decay, self.epsilon)


def _unbias(x):
    count = x.size // x.shape[1]
    return count / (count - 1)


def _normalise(x, mean, variance, weight, bias, epsilon):
    """Paddle's normalisation in training; with momentum 0 it leaves the batch's own statistics in mean and variance."""
    return F.batch_norm(x, mean, variance, weight, bias, training=True, momentum=0.0, epsilon=epsilon)


def _keeps_biased_variance(dimensions):
    """Whether this device's kernel computes 1 as the variance of 1 and -1; the unbiased variance is 2."""
    one, zero = paddle.ones([1]), paddle.zeros([1])
    variance = paddle.ones([1])
    examples = paddle.to_tensor([1.0, -1.0]).reshape([2] + [1] * dimensions)
    _normalise(examples, paddle.zeros([1]), variance, one, zero, 1e-5)
    return variance.item() < 1.5


class PadChannels(nn.Layer):
    """Appends channels of zeros."""

    def __init__(self, layer):
        super().__init__()
        self.added = layer["added"]

    def forward(self, x):
        zeros = paddle.zeros([x.shape[0], self.added] + list(x.shape[2:]), x.dtype)
        return paddle.concat([x, zeros], axis=1)


class Concat(nn.Layer):
    """Concatenates several values: channels of images, features of vectors and sequences."""

    def forward(self, *values):
        return paddle.concat(values, axis=1 if values[0].ndim == 4 else -1)


class Add(nn.Layer):
    """The sum of several values."""

    def forward(self, first, *others):
        for other in others:
            first = first + other
        return first


class Cut(nn.Layer):
    """A slice of each row of tokens."""

    def __init__(self, layer):
        super().__init__()
        self.first, self.last = layer["first"], layer["last"]

    def forward(self, tokens):
        return tokens[:, self.first : self.last]


class Attention(nn.Layer):
    """Heads of queries, keys and values that are next to each other, by Paddle's function.

    It has fused kernels for 16 bits on GPUs only, and otherwise computes two products.
    """

    def __init__(self, layer):
        super().__init__()
        self.heads, self.causal = layer["heads"], layer["causal"]

    def forward(self, x, lengths=None):
        batch, steps, width = x.shape
        query, key, value = x.reshape([batch, steps, 3, self.heads, width // 3 // self.heads]).unbind(2)
        mask = None if lengths is None else self._mask(lengths, steps)
        is_causal = self.causal and mask is None
        heads = F.scaled_dot_product_attention(query, key, value, mask, is_causal=is_causal)
        return heads.reshape([batch, steps, width // 3])

    def _mask(self, lengths, steps):
        """True where a step may attend to another; if the function is causal, it ignores a mask."""
        places = paddle.arange(steps, dtype=lengths.dtype)
        mask = (places < lengths.unsqueeze(1)).reshape([-1, 1, 1, steps])
        return mask & (places <= places.unsqueeze(1)) if self.causal else mask

    def extra_repr(self):
        return "heads=%d, causal=%s, F.scaled_dot_product_attention" % (self.heads, self.causal)


class Positions(nn.Layer):
    """Adds a trained vector to each step."""

    def __init__(self, layer):
        super().__init__()
        self.weight = self.create_parameter(layer["input"], default_initializer=nn.initializer.Normal(std=0.02))

    def forward(self, x):
        return x + self.weight


class TiedDense(nn.Layer):
    """A product with the weights of an embedding, which are no parameters of this layer."""

    def forward(self, x, weight):
        return paddle.matmul(x, weight, transpose_y=True)


class FirstStep(nn.Layer):
    """The features of the first step."""

    def forward(self, x):
        return x[:, 0]


class Recurrent(nn.Layer):
    """nn.LSTM or nn.GRU, batch first; returns all outputs or the last one, and the final state as a tuple.

    Paddle's LSTM has two biases where one would do. The second stays at zero because no optimiser has it: without it,
    or without a gradient for it, the fused kernel of nn.LSTM is unavailable.
    """

    def __init__(self, layer):
        super().__init__()
        kind = nn.LSTM if layer["kind"] == "lstm" else nn.GRU
        zero = nn.initializer.Constant(0.0) if layer["kind"] == "lstm" else None
        self.rnn = kind(layer["input"][1], layer["units"], bias_hh_attr=zero)
        self.gives_sequence = layer["sequence"]

    def forward(self, x, lengths=None, start=None):
        outputs, state = self.rnn(x, start, lengths)
        state = state if isinstance(state, tuple) else (state,)
        return (outputs if self.gives_sequence else state[0][0]), state


class Graph(nn.Layer):
    """A network whose layers do not form a chain; its sublayers have the names of the layers."""

    def __init__(self, layers, built):
        super().__init__()
        self.nodes = wired(layers)
        for name, layer in built:
            self.add_sublayer(name, layer)

    # In a compiled program: it is the same for all data, and needs no converted conditions.
    @paddle.jit.not_to_static
    def forward(self, x, truth=None):
        lengths, states = {}, {}

        def call(layer, values):
            name, kind = layer["name"], layer["kind"]
            if kind == "embedding" and layer["padding"] is not None:
                # The kernel of nn.LSTM and nn.GRU reads float32.
                lengths[name] = (values[0] != layer["padding"]).sum(1).astype("int32")
            if kind in ("lstm", "gru"):
                known = lengths.get(layer.get("lengths")), states.get(layer.get("start"))
                values[0], states[name] = getattr(self, name)(values[0], *known)
                return values[0]
            if kind == "region_proposals":
                return getattr(self, name)(*values, truth)
            if kind == "attention":
                return getattr(self, name)(values[0], lengths.get(layer.get("lengths")))
            if kind == "tied_dense":
                return getattr(self, name)(values[0], getattr(self, layer["embedding"]).weight)
            return getattr(self, name)(*values)

        return run(self.nodes, x, call)


# What follows is only for bfloat16 on a CPU, where the network is a compiled program.


class BatchNormInProgram(BatchNorm):
    """Batch normalisation whose statistics a compiled program can update: it would drop scale_ and add_."""

    @paddle.no_grad()
    def _move(self, mean, variance, unbias):
        paddle.assign(self.mean * self.decay + mean * (1 - self.decay), self.mean)
        paddle.assign(self.variance * self.decay + variance * ((1 - self.decay) * unbias), self.variance)


class LinearInProgram(nn.Linear):
    """nn.Linear that always computes the gradient of its input.

    oneDNN's backward pass of a bfloat16 product crashes the process if that gradient is not needed.
    """

    def forward(self, x):
        if x.stop_gradient:
            x = x.detach()
            x.stop_gradient = False
        return super().forward(x)


# Some of Paddle's kernels take their settings as float32, even for float64 data. What follows is only for float64.


class BatchNormInDouble(BatchNorm):
    """Batch normalisation whose epsilon is not rounded to float32."""

    def forward(self, x):
        mean, variance = self.mean, self.variance
        if self.training:
            axes = [axis for axis in range(x.ndim) if axis != 1]
            mean, variance = x.mean(axes), x.var(axes, unbiased=False)
            self._move(mean, variance, _unbias(x))
        column = [-1] + [1] * (x.ndim - 2)
        scale = self.weight * paddle.rsqrt(variance + self.epsilon)
        return (x - mean.reshape(column)) * scale.reshape(column) + self.bias.reshape(column)


class AvgPoolInDouble(nn.Layer):
    """Average pooling as a convolution with ones, whose gradient does not round 1/window to float32."""

    def __init__(self, layer):
        super().__init__()
        self.stride, self.sides = layer["stride"], sides(layer["padding"])
        self.register_buffer("ones", paddle.ones([layer["input"][0], 1] + layer["window"]))

    def forward(self, x):
        total = F.conv2d(x, self.ones, None, self.stride, self.sides, groups=x.shape[1])
        return total / F.conv2d(paddle.ones_like(x[:1, :1]), self.ones[:1], None, self.stride, self.sides)


class LocalResponseNormInDouble(nn.Layer):
    """Local response normalisation without average pooling, as a convolution along the channels with ones."""

    def __init__(self, layer):
        super().__init__()
        self.size, self.beta, self.k = layer["size"], layer["beta"], layer["k"]
        self.register_buffer("share", paddle.full([1, 1, self.size, 1], layer["alpha"] / self.size))

    def forward(self, x):
        count, channels, rows, columns = x.shape
        squares = (x * x).reshape([count, 1, channels, rows * columns])
        sums = F.conv2d(squares, self.share, padding=[self.size // 2, 0]).reshape(x.shape)
        return x / (sums + self.k) ** self.beta


def sides(padding):
    """Top, bottom, left, right: Paddle's operators support asymmetric padding."""
    (top, bottom), (left, right) = padding
    return [top, bottom, left, right]


def conv2d(layer):
    channels, filters, padding = layer["input"][0], layer["output"][0], sides(layer["padding"])
    settings = {"groups": layer.get("groups", 1), "bias_attr": None if layer["bias"] else False}
    return nn.Conv2D(channels, filters, layer["kernel"], layer["stride"], padding, **settings)


def dense(layer, kind=nn.Linear):
    # On a sequence, nn.Linear applies to the features of each step.
    return kind(layer["input"][-1], layer["output"][-1], bias_attr=None if layer["bias"] else False)


def layer_norm(layer):
    if layer["epsilon"] > 1e-3:
        reason = "the epsilon of Paddle's layer norm is at most 0.001, got %r" % layer["epsilon"]
        raise RequestError("unsupported", reason)
    return nn.LayerNorm(layer["input"][-1], layer["epsilon"])


def local_response_norm(layer):
    return nn.LocalResponseNorm(layer["size"], alpha=layer["alpha"], beta=layer["beta"], k=layer["k"])


LAYERS = {
    "conv2d": conv2d,
    "grouped_conv2d": conv2d,
    "dense": dense,
    "max_pool": lambda layer: nn.MaxPool2D(layer["window"], layer["stride"], sides(layer["padding"])),
    "avg_pool": lambda layer: nn.AvgPool2D(layer["window"], layer["stride"], sides(layer["padding"]), exclusive=True),
    "batch_norm": BatchNorm,
    "local_response_norm": local_response_norm,
    "dropout": lambda layer: nn.Dropout(layer["rate"]),
    "flatten": lambda layer: nn.Flatten(),
    "relu": lambda layer: nn.ReLU(),
    "region_proposals": RegionProposals,
    "roi_align": RoIAlign,
    "detections": lambda layer: Detections(),
    "gelu": lambda layer: nn.GELU(),
    "gelu_tanh": lambda layer: nn.GELU(approximate=True),
    "layer_norm": layer_norm,
    "attention": Attention,
    "positions": Positions,
    "tied_dense": lambda layer: TiedDense(),
    "first_step": lambda layer: FirstStep(),
    "tanh": lambda layer: nn.Tanh(),
    "sigmoid": lambda layer: nn.Sigmoid(),
    "log_softmax": lambda layer: nn.LogSoftmax(),
    "pad_channels": PadChannels,
    "add": lambda layer: Add(),
    "concat": lambda layer: Concat(),
    "cut": Cut,
    "embedding": lambda layer: nn.Embedding(layer["vocabulary"], layer["output"][-1]),
    "lstm": Recurrent,
    "gru": Recurrent,
}


IN_DOUBLE = {
    "batch_norm": BatchNormInDouble,
    "avg_pool": AvgPoolInDouble,
    "local_response_norm": LocalResponseNormInDouble,
}


IN_PROGRAM = {"batch_norm": BatchNormInProgram, "dense": partial(dense, kind=LinearInProgram)}


def build(network, other):
    """The neutral network as one nn.Sequential, or as a Graph, with each layer under its name.

    ``other`` holds the kinds that are not built as usual.
    """
    layers = network["layers"]
    known = dict(LAYERS, **other)
    built = [(layer["name"], known[layer["kind"]](layer)) for layer in layers]
    if is_chain(layers) and not any(layer["kind"] in ("lstm", "gru") for layer in layers):
        return nn.Sequential(*built)
    return Graph(layers, built)
