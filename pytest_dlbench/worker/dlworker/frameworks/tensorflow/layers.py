"""The layers of the TensorFlow 2 builder: tf.Modules and functions of tf.nn operations. Images are channels last.

A layer is made from its JSON and its native arrays, and called with (x, training, seed): with variables it is a
tf.Module, otherwise a function. Merges are called with all values, those of detectors also with the truth; recurrent
layers have a signature of their own. A layer computes in the type of its inputs, to which it casts its variables.
"""

from functools import partial
from math import pi

import tensorflow as tf

from dlworker.frameworks.tensorflow.detection import DETECTION
from dlworker.frameworks.tensorflow.precision import biased, widened
from dlworker.frameworks.tensorflow.recurrent import GRU, LSTM, FusedLSTM
from dlworker.frameworks.tensorflow.weights import variable
from dlworker.protocol import RequestError


class Conv2D(tf.Module):
    def __init__(self, layer, arrays):
        super().__init__(layer["name"])
        self.weight, self.bias = variable(layer, arrays, "weight"), variable(layer, arrays, "bias")
        self.stride, self.padding = layer["stride"], _padding(layer, "kernel")

    def __call__(self, x, training, seed):
        x = self.convolve(x, tf.cast(self.weight, x.dtype))
        return x if self.bias is None else biased(x, self.bias)

    def convolve(self, x, weight):
        return tf.nn.conv2d(x, weight, self.stride, self.padding)


class GroupedConv2D(Conv2D):
    """One convolution per group: TensorFlow's grouped convolution has no gradient on a CPU."""

    def __init__(self, layer, arrays):
        super().__init__(layer, arrays)
        self.groups = layer["groups"]

    def convolve(self, x, weight):
        pairs = zip(tf.split(x, self.groups, axis=-1), tf.split(weight, self.groups, axis=-1))
        return tf.concat([tf.nn.conv2d(part, own, self.stride, self.padding) for part, own in pairs], axis=-1)


class Dense(tf.Module):
    def __init__(self, layer, arrays):
        super().__init__(layer["name"])
        self.weight, self.bias = variable(layer, arrays, "weight"), variable(layer, arrays, "bias")

    def __call__(self, x, training, seed):
        weight = tf.cast(self.weight, x.dtype)
        # tf.matmul would compute a separate product for each sequence.
        x = tf.matmul(x, weight) if len(x.shape) == 2 else tf.tensordot(x, weight, 1)
        return x if self.bias is None else biased(x, self.bias)


class BatchNorm(tf.Module):
    """Its variables, the moments of a batch and everything computed from them have at least 32 bits."""

    def __init__(self, layer, arrays):
        super().__init__(layer["name"])
        if len(layer["input"]) == 2:
            raise RequestError("unsupported", "the TensorFlow builder does not support batch_norm of sequences")
        self.scale, self.shift = variable(layer, arrays, "scale"), variable(layer, arrays, "shift")
        self.mean = tf.Variable(tf.zeros_like(self.scale), trainable=False)
        self.variance = tf.Variable(tf.ones_like(self.scale), trainable=False)
        self.epsilon, self.decay = layer["epsilon"], layer["decay"]

    def __call__(self, x, training, seed):
        if not training:
            moved = widened(x), self.mean, self.variance, self.shift, self.scale, self.epsilon
            return tf.cast(tf.nn.batch_normalization(*moved), x.dtype)
        x, mean, variance = self.normalise(x)
        self.mean.assign(self.decay * self.mean + (1 - self.decay) * mean)
        self.variance.assign(self.decay * self.variance + (1 - self.decay) * variance)
        return x

    def normalise(self, x):
        """Normalised x, the batch's mean and its unbiased variance."""
        wide = widened(x)
        mean, variance = tf.nn.moments(wide, list(range(len(x.shape) - 1)))
        count = x.shape.num_elements() // x.shape[-1]
        normalised = tf.nn.batch_normalization(wide, mean, variance, self.shift, self.scale, self.epsilon)
        return tf.cast(normalised, x.dtype), mean, variance * (count / (count - 1))


class FusedBatchNorm(BatchNorm):
    """The same in a third of the time, but not for float64. Under XLA it is no faster, and less precise."""

    def normalise(self, x):
        # Not tf.compat.v1.nn.fused_batch_norm: it raises an epsilon of 1e-5 to 1.001e-5. The variance is unbiased.
        images = x if len(x.shape) == 4 else x[:, tf.newaxis, tf.newaxis, :]
        operator = partial(tf.raw_ops.FusedBatchNormV3, mean=[], variance=[], epsilon=self.epsilon, is_training=True)
        normalised, mean, variance = operator(x=images, scale=self.scale, offset=self.shift)[:3]
        return tf.reshape(normalised, x.shape), mean, variance


class Embedding(tf.Module):
    def __init__(self, layer, arrays):
        super().__init__(layer["name"])
        self.weight = variable(layer, arrays, "weight")

    def __call__(self, tokens, training, seed):
        return tf.nn.embedding_lookup(self.weight, tokens)


class LayerNorm(tf.Module):
    """Its variables, the moments and everything computed from them have at least 32 bits."""

    def __init__(self, layer, arrays):
        super().__init__(layer["name"])
        self.scale, self.shift = variable(layer, arrays, "scale"), variable(layer, arrays, "shift")
        self.epsilon = layer["epsilon"]

    def __call__(self, x, training, seed):
        wide = widened(x)
        mean, variance = tf.nn.moments(wide, [-1], keepdims=True)
        normalised = tf.nn.batch_normalization(wide, mean, variance, self.shift, self.scale, self.epsilon)
        return tf.cast(normalised, x.dtype)


class Positions(tf.Module):
    def __init__(self, layer, arrays):
        super().__init__(layer["name"])
        self.weight = variable(layer, arrays, "weight")

    def __call__(self, x, training, seed):
        return tf.cast(widened(x) + self.weight, x.dtype)


class Attention:
    """Heads of queries, keys and values that are next to each other.

    TensorFlow has no function for it: two products, with a softmax that has at least 32 bits.
    """

    def __init__(self, layer, arrays):
        self.heads, self.causal = layer["heads"], layer["causal"]

    def __call__(self, x, lengths):
        batch, steps, width = x.shape
        parts = tf.transpose(tf.reshape(x, [batch, steps, 3, self.heads, -1]), [2, 0, 3, 1, 4])
        query, key, value = tf.unstack(parts)
        scores = widened(tf.matmul(query, key, transpose_b=True)) / (width // 3 // self.heads) ** 0.5
        if self.causal:
            scores = tf.where(tf.linalg.band_part(tf.ones([steps, steps], tf.bool), -1, 0), scores, -float("inf"))
        if lengths is not None:
            scores = tf.where(tf.sequence_mask(lengths, steps)[:, None, None], scores, -float("inf"))
        heads = tf.matmul(tf.cast(tf.nn.softmax(scores), x.dtype), value)
        return tf.reshape(tf.transpose(heads, [0, 2, 1, 3]), [batch, steps, width // 3])


def tied_dense(layer, arrays):
    return lambda x, weight: tf.tensordot(x, tf.cast(weight, x.dtype), [[2], [1]])


def _gelu(x):
    # tf.nn.gelu rounds its constants to float32.
    return x * (1 + tf.math.erf(x / 2**0.5)) / 2 if x.dtype == tf.float64 else tf.nn.gelu(x)


def _gelu_tanh(x):
    if x.dtype == tf.float64:
        return x * (1 + tf.tanh((2 / pi) ** 0.5 * (x + 0.044715 * x**3))) / 2
    return tf.nn.gelu(x, approximate=True)


def max_pool(layer, arrays):
    pool, padding = partial(tf.nn.max_pool2d, ksize=layer["window"], strides=layer["stride"]), _padding(layer, "window")
    if isinstance(padding, str):
        return _always(partial(pool, padding=padding))
    # tf.nn.max_pool2d takes rows and columns, too, but XLA does not compile that.
    return _always(lambda x: pool(tf.pad(x, padding, constant_values=-float("inf")), padding="VALID"))


def avg_pool(layer, arrays):
    pool, padding = partial(tf.nn.avg_pool2d, ksize=layer["window"], strides=layer["stride"]), _padding(layer, "window")
    if isinstance(padding, str):
        return _always_widened(partial(pool, padding=padding))

    # Explicitly padded zeros would be counted as values.
    def mean(x):
        return pool(tf.pad(x, padding), padding="VALID")

    return _always_widened(lambda x: mean(x) / mean(tf.ones([1, x.shape[1], x.shape[2], 1], x.dtype)))


def dropout(layer, arrays):
    # Philox is what CPUs and GPUs use anyway. XLA's own choice takes twenty times as long on a CPU.
    drop = partial(tf.nn.experimental.stateless_dropout, rate=layer["rate"], rng_alg="philox")
    return lambda x, training, seed: drop(x, seed=seed) if training else x


def local_response_norm(layer, arrays):
    size, side = layer["size"], layer["size"] // 2

    def normalise(x):
        channels = x.shape[-1]
        squares = tf.pad(x * x, [[0, 0], [0, 0], [0, 0], [side, side]])
        sums = tf.add_n([squares[..., first : first + channels] for first in range(size)])
        return x / (layer["k"] + layer["alpha"] / size * sums) ** layer["beta"]

    return _always_widened(normalise)


def fused_local_response_norm(layer, arrays):
    """TensorFlow's own operator, only for float32. It does not divide alpha by the size."""
    size = layer["size"]
    settings = {"depth_radius": size // 2, "bias": layer["k"], "alpha": layer["alpha"] / size, "beta": layer["beta"]}
    return _always_widened(partial(tf.nn.local_response_normalization, **settings))


def pad_channels(layer, arrays):
    # Not tf.pad: in float32 TensorFlow 2.21 crashes when it fuses a convolution, its bias and the sum with the pad.
    return _always(lambda x: tf.concat([x, tf.zeros(x.shape[:-1] + [layer["added"]], x.dtype)], axis=-1))


def flatten_in_order(layer, arrays):
    """Flattening in the canonical order, if no later layer's weights can be reordered instead."""
    if len(layer["input"]) < 3:
        return LAYERS["flatten"](layer, arrays)
    return _always(lambda x: tf.reshape(tf.transpose(x, [0, 3, 1, 2]), [x.shape[0], -1]))


def _always(operation):
    """A layer that does the same in training and evaluation."""
    return lambda x, training, seed: operation(x)


def _always_widened(operation):
    """Such a layer in at least float32, for operations that need it: squares, logarithms, long sums."""
    return _always(lambda x: tf.cast(operation(widened(x)), x.dtype))


LAYERS = {
    "conv2d": Conv2D,
    "grouped_conv2d": GroupedConv2D,
    "dense": Dense,
    "max_pool": max_pool,
    "avg_pool": avg_pool,
    "batch_norm": BatchNorm,
    "local_response_norm": local_response_norm,
    "dropout": dropout,
    "flatten": lambda layer, arrays: _always(lambda x: tf.reshape(x, [x.shape[0], -1])),
    "relu": lambda layer, arrays: _always(tf.nn.relu),
    "gelu": lambda layer, arrays: _always_widened(_gelu),
    "gelu_tanh": lambda layer, arrays: _always_widened(_gelu_tanh),
    "layer_norm": LayerNorm,
    "attention": Attention,
    "positions": Positions,
    "tied_dense": tied_dense,
    "first_step": lambda layer, arrays: _always(lambda x: x[:, 0]),
    "tanh": lambda layer, arrays: _always(tf.tanh),
    "sigmoid": lambda layer, arrays: _always(tf.sigmoid),
    "log_softmax": lambda layer, arrays: _always_widened(tf.nn.log_softmax),
    "pad_channels": pad_channels,
    "add": lambda layer, arrays: tf.add_n,
    "concat": lambda layer, arrays: partial(tf.concat, axis=-1),
    "cut": lambda layer, arrays: _always(lambda tokens: tokens[:, layer["first"] : layer["last"]]),
    "embedding": Embedding,
    "lstm": LSTM,
    "gru": GRU,
    **DETECTION,
}
# Fused TensorFlow operators by precision, which XLA lacks or does not speed up.
_NORMS = {"batch_norm": FusedBatchNorm, "local_response_norm": fused_local_response_norm}
FUSED = {"float32": dict(_NORMS, lstm=FusedLSTM), "bfloat16": _NORMS, "float16": _NORMS}
MERGES = {"add", "concat"}
RECURRENT = {"lstm", "gru"}


def _padding(layer, window):
    """TensorFlow's name for the padding if it has one, otherwise the padding of all four axes."""
    pads, same = [list(sides) for sides in layer["padding"]], []
    for size, extent, stride in zip(layer["input"][1:], layer[window], layer["stride"]):
        total = max(0, (-(-size // stride) - 1) * stride + extent - size)
        same.append([total // 2, total - total // 2])
    words = [word for word, meaning in (("VALID", [[0, 0], [0, 0]]), ("SAME", same)) if pads == meaning]
    return words[0] if words else [[0, 0]] + pads + [[0, 0]]
