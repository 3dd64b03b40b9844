"""The layers of the TensorFlow 1 builder: tf.layers and tf.nn, images channels last.

Every layer is a function (layer, x, training) -> x, a merge (layer, values) -> x, and a recurrent layer
(layer, x, lengths, start) -> (x, state). A variable is found again by its layer's name, so that the graph holds the
network twice, for training and for evaluation, without a tf.cond in either.
"""

import numpy as np
import tensorflow as tf
from tensorflow.python.ops import gen_nn_ops

from dlworker.protocol import RequestError


def conv2d(layer, x, training):
    x, padding = _padded(layer, x, layer["kernel"], 0.0)
    return tf.layers.conv2d(
        x,
        layer["output"][0],
        layer["kernel"],
        strides=layer["stride"],
        padding=padding,
        use_bias=layer["bias"],
        name=layer["name"],
        reuse=tf.AUTO_REUSE,
    )


def grouped_conv2d(layer, x, training):
    """One convolution per group: TensorFlow 1 has no grouped convolution on a CPU."""
    x, padding = _padded(layer, x, layer["kernel"], 0.0)
    groups, filters, strides = layer["groups"], layer["output"][0], [1] + list(layer["stride"]) + [1]
    shape = list(layer["kernel"]) + [layer["input"][0] // groups, filters]
    with tf.variable_scope(layer["name"], reuse=tf.AUTO_REUSE):
        kernel = tf.get_variable("kernel", shape, x.dtype)
        pairs = zip(tf.split(x, groups, axis=-1), tf.split(kernel, groups, axis=-1))
        x = tf.concat([tf.nn.conv2d(part, own, strides, padding.upper()) for part, own in pairs], axis=-1)
        if not layer["bias"]:
            return x
        return tf.nn.bias_add(x, tf.get_variable("bias", [filters], x.dtype, tf.zeros_initializer()))


def dense(layer, x, training):
    units = layer["output"][-1]
    return tf.layers.dense(x, units, use_bias=layer["bias"], name=layer["name"], reuse=tf.AUTO_REUSE)


def max_pool(layer, x, training):
    x, padding = _padded(layer, x, layer["window"], -np.inf)
    return tf.layers.max_pooling2d(x, layer["window"], layer["stride"], padding, name=layer["name"])


def avg_pool(layer, x, training):
    padded, padding = _padded(layer, x, layer["window"], 0.0)
    mean = tf.layers.average_pooling2d(padded, layer["window"], layer["stride"], padding, name=layer["name"])
    if padded is x:
        return mean
    # TensorFlow excludes its own padding ("same") from the mean, but counts what tf.pad added.
    return mean / tf.constant(_shares(layer), x.dtype.base_dtype)


def batch_norm(layer, x, training):
    if len(layer["input"]) == 2:
        raise RequestError("unsupported", "the TensorFlow 1 builder does not support batch_norm of sequences")
    channels = layer["input"][0]
    with tf.variable_scope(layer["name"], reuse=tf.AUTO_REUSE):
        make = {"shape": [channels], "dtype": x.dtype}
        gamma = tf.get_variable("gamma", initializer=tf.ones_initializer(), **make)
        beta = tf.get_variable("beta", initializer=tf.zeros_initializer(), **make)
        mean = tf.get_variable("moving_mean", initializer=tf.zeros_initializer(), trainable=False, **make)
        variance = tf.get_variable("moving_variance", initializer=tf.ones_initializer(), trainable=False, **make)
    if not training:
        return tf.nn.batch_normalization(x, mean, variance, beta, gamma, layer["epsilon"], name=layer["name"])
    y, batch_mean, batch_variance = normalized(x, gamma, beta, layer["epsilon"])
    for running, new in ((mean, batch_mean), (variance, batch_variance)):
        update = running.assign_sub((running - new) * (1 - layer["decay"]))
        tf.add_to_collection(tf.GraphKeys.UPDATE_OPS, update)
    return tf.identity(y, name=layer["name"])


def normalized(x, gamma, beta, epsilon):
    """Normalised x, the batch's mean and its unbiased variance.

    tf.layers.batch_normalization raises an epsilon below 1.001e-5 to that value, for cuDNN, and has the unbiased
    variance only with the fused kernel: this is that kernel with the given epsilon, or otherwise the sums.
    """
    if x.shape.ndims == 4 and x.dtype == tf.float32:
        nothing = tf.constant([], tf.float32)
        fused = gen_nn_ops.fused_batch_norm_v2(x, gamma, beta, nothing, nothing, epsilon=epsilon, is_training=True)
        return fused[:3]
    mean, variance = tf.nn.moments(x, list(range(x.shape.ndims - 1)))
    count = tf.cast(tf.size(x) // tf.size(mean), x.dtype)
    y = tf.nn.batch_normalization(x, mean, variance, beta, gamma, epsilon)
    return y, mean, variance * count / (count - 1)


def local_response_norm(layer, x, training):
    size, side, channels = layer["size"], layer["size"] // 2, layer["input"][0]
    # TensorFlow does not divide alpha by the size.
    alpha = layer["alpha"] / size
    if x.dtype == tf.float32:
        return tf.nn.local_response_normalization(x, side, layer["k"], alpha, layer["beta"], name=layer["name"])
    # The operator supports no other precision.
    squares = tf.pad(x * x, [[0, 0], [0, 0], [0, 0], [side, side]])
    sums = tf.add_n([squares[..., first : first + channels] for first in range(size)])
    return tf.divide(x, (layer["k"] + alpha * sums) ** layer["beta"], name=layer["name"])


def pad_channels(layer, x, training):
    return tf.pad(x, [[0, 0], [0, 0], [0, 0], [0, layer["added"]]], name=layer["name"])


def embedding(layer, tokens, training):
    with tf.variable_scope(layer["name"], reuse=tf.AUTO_REUSE):
        embeddings = tf.get_variable("embeddings", [layer["vocabulary"], layer["output"][-1]])
    return tf.nn.embedding_lookup(embeddings, tokens)


def lstm(layer, x, lengths, start):
    units = layer["units"]
    with tf.variable_scope(layer["name"], reuse=tf.AUTO_REUSE):
        with tf.variable_scope("rnn/lstm_cell"):
            # TensorFlow's forget_bias is added to the bias and not trained: instead the bias is initialised with it.
            first = tf.constant_initializer(np.repeat([0.0, 0.0, 1.0, 0.0], units))
            tf.get_variable("bias", [4 * units], x.dtype, first)
        cell = tf.nn.rnn_cell.LSTMCell(units, forget_bias=0.0, reuse=tf.AUTO_REUSE)
        outputs, state = tf.nn.dynamic_rnn(cell, x, lengths, start, dtype=x.dtype)
    return (outputs if layer["sequence"] else state.h), state


class GRUCell(tf.nn.rnn_cell.RNNCell):
    """A GRU whose reset gate is applied after the recurrent product, as in cuDNN; tf.nn.rnn_cell.GRUCell's is before.

    As in that cell, the gates' bias starts at 1.
    """

    def __init__(self, units):
        super().__init__(_reuse=tf.AUTO_REUSE, name="gru_cell")
        self.units = units

    @property
    def state_size(self):
        return self.units

    @property
    def output_size(self):
        return self.units

    def build(self, shape):
        width, zeros = 3 * self.units, tf.zeros_initializer()
        ones = tf.constant_initializer(np.repeat([1.0, 1.0, 0.0], self.units))
        self.weight = self.add_variable("weight", [int(shape[-1]), width])
        self.recurrent = self.add_variable("recurrent", [self.units, width])
        self.bias = self.add_variable("bias", [width], initializer=ones)
        self.recurrent_bias = self.add_variable("recurrent_bias", [width], initializer=zeros)
        self.built = True

    def call(self, x, state):
        projected = tf.nn.bias_add(tf.matmul(x, self.weight), self.bias)
        recurrent = tf.nn.bias_add(tf.matmul(state, self.recurrent), self.recurrent_bias)
        sizes = [2 * self.units, self.units]
        (gates, new), (recurrent_gates, recurrent_new) = (tf.split(x, sizes, axis=1) for x in (projected, recurrent))
        r, z = tf.split(tf.sigmoid(gates + recurrent_gates), 2, axis=1)
        state = (1 - z) * tf.tanh(new + r * recurrent_new) + z * state
        return state, state


def gru(layer, x, lengths, start):
    with tf.variable_scope(layer["name"], reuse=tf.AUTO_REUSE):
        outputs, state = tf.nn.dynamic_rnn(GRUCell(layer["units"]), x, lengths, start, dtype=x.dtype)
    return (outputs if layer["sequence"] else state), state


LAYERS = {
    "conv2d": conv2d,
    "grouped_conv2d": grouped_conv2d,
    "dense": dense,
    "max_pool": max_pool,
    "avg_pool": avg_pool,
    "batch_norm": batch_norm,
    "dropout": lambda layer, x, training: tf.layers.dropout(x, layer["rate"], training=training, name=layer["name"]),
    "flatten": lambda layer, x, training: tf.layers.flatten(x, name=layer["name"]),
    "relu": lambda layer, x, training: tf.nn.relu(x, name=layer["name"]),
    "tanh": lambda layer, x, training: tf.tanh(x, name=layer["name"]),
    "sigmoid": lambda layer, x, training: tf.sigmoid(x, name=layer["name"]),
    "log_softmax": lambda layer, x, training: tf.nn.log_softmax(x, name=layer["name"]),
    "local_response_norm": local_response_norm,
    "pad_channels": pad_channels,
    "embedding": embedding,
    "cut": lambda layer, tokens, training: tokens[:, layer["first"] : layer["last"]],
}
MERGES = {
    "add": lambda layer, values: tf.add_n(values, name=layer["name"]),
    "concat": lambda layer, values: tf.concat(values, axis=-1, name=layer["name"]),
}
RECURRENT = {"lstm": lstm, "gru": gru}
KINDS = {*LAYERS, *MERGES, *RECURRENT}


def _padded(layer, x, window, value):
    """The input, padded here if neither "valid" nor "same" fits, and which of the two to use."""
    pads = [tuple(sides) for sides in layer["padding"]]
    if pads == [(0, 0), (0, 0)]:
        return x, "valid"
    if pads == [_same(*sizes) for sizes in zip(layer["input"][1:], window, layer["stride"])]:
        return x, "same"
    return tf.pad(x, [(0, 0)] + pads + [(0, 0)], constant_values=value), "valid"


def _same(size, window, stride):
    """The padding before and after of "same", see tf.nn.convolution."""
    total = max(0, (-(-size // stride) - 1) * stride + window - size)
    return total // 2, total - total // 2


def _shares(layer):
    """The fraction of each window that is inside the image, 1×rows×columns×1."""
    sizes = zip(layer["input"][1:], layer["padding"], layer["window"], layer["stride"])
    return np.outer(*[_share(*size) for size in sizes])[None, :, :, None]


def _share(size, sides, window, stride):
    outputs = (size + sum(sides) - window) // stride + 1
    first = np.arange(outputs) * stride - sides[0]
    return (np.minimum(first + window, size) - np.maximum(first, 0)) / float(window)
