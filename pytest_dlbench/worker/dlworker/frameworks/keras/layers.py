"""Every kind of layer as Keras 3 layers: its own if they compute the canonical layer, otherwise written here."""

from functools import reduce
from operator import mul

import keras
import numpy as np
from keras import ops

from dlworker.frameworks.keras.detection import Detections, RegionProposals, RoIAlign

BACKEND = keras.backend.backend()
# PyTorch's operators are channels first: in Keras's usual layout every pooling would transpose images twice.
LAYOUT = "channels_first" if BACKEND == "torch" else "channels_last"

if BACKEND == "tensorflow":
    import tensorflow as tf
elif BACKEND == "torch":
    import torch


class UnbiasedBatchNormalization(keras.layers.BatchNormalization):
    """Batch normalisation with an unbiased moving variance; Keras's is biased."""

    def call(self, inputs, training=None, mask=None):
        if not training:
            return super().call(inputs, training=False, mask=mask)
        kept = self.moving_variance * self.momentum
        outputs = super().call(inputs, training=True, mask=mask)
        sizes = [size for axis, size in enumerate(ops.shape(inputs)) if axis != self.axis % inputs.ndim]
        count = reduce(mul, sizes)
        self.moving_variance.assign(kept + (self.moving_variance - kept) * (count / (count - 1)))
        return outputs


class LowestPadding2D(keras.layers.ZeroPadding2D):
    """Padding with the lowest value, which is never the maximum."""

    def call(self, inputs):
        sides = ((0, 0), (0, 0), *self.padding) if LAYOUT == "channels_first" else ((0, 0), *self.padding, (0, 0))
        return ops.pad(inputs, sides, constant_values=-float("inf"))


class LocalResponseNormalization(keras.layers.Layer):
    """Local response normalisation, which Keras lacks. PyTorch has one, and TensorFlow one for float32."""

    def __init__(self, size, alpha, beta, k, **kwargs):
        super().__init__(**kwargs)
        self.size, self.alpha, self.beta, self.k = size, alpha, beta, k

    def call(self, inputs):
        around = self.size // 2
        if BACKEND == "torch":
            return torch.nn.functional.local_response_norm(inputs, self.size, self.alpha, self.beta, self.k)
        if BACKEND == "tensorflow" and inputs.dtype == tf.float32:
            # TensorFlow does not divide alpha by the size.
            return tf.nn.local_response_normalization(inputs, around, self.k, self.alpha / self.size, self.beta)
        squares = ops.pad(ops.square(inputs), ((0, 0), (0, 0), (0, 0), (around, around)))
        sums = sum(squares[..., first : first + inputs.shape[-1]] for first in range(self.size))
        return inputs / ops.power(self.k + self.alpha / self.size * sums, self.beta)


class Cut(keras.layers.Layer):
    """A slice of each row of tokens."""

    def __init__(self, first, last, **kwargs):
        super().__init__(**kwargs)
        self.first, self.last = first, last

    def call(self, inputs):
        return inputs[:, self.first : self.last]


class Embedding(keras.layers.Embedding):
    """An embedding whose gradient is dense on TensorFlow, too.

    There it has one row per token read: if a token occurs twice, Keras's optimisers and clipping would square the parts
    of its gradient instead of their sum. The gradient of a reshape is dense again.
    """

    def call(self, inputs):
        return ops.take(ops.reshape(self.embeddings, (self.input_dim, self.output_dim)), inputs, axis=0)


class Attention(keras.layers.Layer):
    """Heads of queries, keys and values that are next to each other, by ops.dot_product_attention of the backend."""

    def __init__(self, heads, causal, **kwargs):
        super().__init__(**kwargs)
        self.heads, self.causal = heads, causal

    def call(self, inputs, allowed=None):
        _, steps, width = inputs.shape
        size = width // 3 // self.heads
        query, key, value = ops.unstack(ops.reshape(inputs, (-1, steps, 3, self.heads, size)), 3, axis=2)
        mask = None if allowed is None else allowed[:, None, None]
        # On TensorFlow it would round a plain number to float32.
        scale = np.float64(size**-0.5) if keras.config.floatx() == "float64" else size**-0.5
        heads = ops.dot_product_attention(query, key, value, mask=mask, scale=scale, is_causal=self.causal)
        return ops.reshape(heads, (-1, steps, width // 3))


class Positions(keras.layers.Layer):
    """Adds a trained vector to each step."""

    def build(self, shape):
        self.positions = self.add_weight(shape=shape[1:], initializer="uniform", name="positions")

    def call(self, inputs):
        return inputs + self.positions


class TiedDense(keras.layers.Layer):
    """A product with the weights of an embedding, which are no weights of this layer."""

    def __init__(self, embedding, **kwargs):
        super().__init__(**kwargs)
        # A function, because Keras would look for weights in a layer.
        self.embeddings = lambda: embedding.embeddings

    def call(self, inputs):
        return ops.matmul(inputs, ops.transpose(self.embeddings()))


class FirstStep(keras.layers.Layer):
    """The features of the first step."""

    def call(self, inputs):
        return inputs[:, 0]


class GELU(keras.layers.Layer):
    """Keras's own, except in float64, where TensorFlow rounds the constants to float32."""

    def __init__(self, tanh, **kwargs):
        super().__init__(**kwargs)
        self.tanh = tanh

    def call(self, inputs):
        if keras.config.floatx() != "float64":
            return keras.activations.gelu(inputs, approximate=self.tanh)
        if self.tanh:
            return inputs * (1 + ops.tanh((2 / np.pi) ** 0.5 * (inputs + 0.044715 * inputs**3))) / 2
        return inputs * (1 + ops.erf(inputs / 2**0.5)) / 2


class LSTM(keras.layers.LSTM):
    """Keras's own, but it stops the mask, which would exclude the answers after a sequence's end from the loss."""

    def compute_mask(self, sequences, mask):
        return None


class GRU(keras.layers.GRU):
    """As LSTM."""

    def compute_mask(self, sequences, mask):
        return None


# For each kind of layer, a function (layer, options) -> Keras layers, the last of which takes the options.


def conv2d(layer, options):
    padding, before = _padding(layer, layer["kernel"], keras.layers.ZeroPadding2D)
    filters, kernel, stride = layer["output"][0], layer["kernel"], layer["stride"]
    options = dict(options, groups=layer.get("groups", 1), use_bias=layer["bias"])
    return before + [keras.layers.Conv2D(filters, kernel, stride, padding, **options)]


def dense(layer, options):
    return [keras.layers.Dense(layer["output"][-1], use_bias=layer["bias"], **options)]


def max_pool(layer, options):
    padding, before = _padding(layer, layer["window"], LowestPadding2D)
    return before + [keras.layers.MaxPooling2D(layer["window"], layer["stride"], padding, **options)]


def avg_pool(layer, options):
    padding, before = _padding(layer, layer["window"], keras.layers.ZeroPadding2D)
    if not before:
        return [keras.layers.AveragePooling2D(layer["window"], layer["stride"], padding, **options)]
    # The mean includes the zeros.
    pool = keras.layers.AveragePooling2D(layer["window"], layer["stride"], name="%s_counted" % layer["name"])
    return before + [pool, keras.layers.Rescaling(_shares(layer), **options)]


def batch_norm(layer, options):
    # For a sequence, the steps play the role of channels.
    axis = -1 if len(layer["input"]) == 3 and LAYOUT == "channels_last" else 1
    return [UnbiasedBatchNormalization(axis, momentum=layer["decay"], epsilon=layer["epsilon"], **options)]


def local_response_norm(layer, options):
    settings = {name: layer[name] for name in ("size", "alpha", "beta", "k")}
    # No backend with its own normalisation supports 16 bits on a CPU.
    return [LocalResponseNormalization(dtype=keras.config.floatx(), **settings, **options)]


def pad_channels(layer, options):
    # Padding the rows and columns of the other layout pads the channels of this one.
    if LAYOUT == "channels_last":
        return [keras.layers.ZeroPadding2D(((0, 0), (0, layer["added"])), data_format="channels_first", **options)]
    return [keras.layers.ZeroPadding2D(((0, layer["added"]), (0, 0)), data_format="channels_last", **options)]


def concat(layer, options):
    return [keras.layers.Concatenate(1 if len(layer["output"]) == 3 and LAYOUT == "channels_first" else -1, **options)]


def flatten(layer, options):
    if len(layer["input"]) == 3:
        # In both layouts Keras flattens in row, column, channel order.
        return [keras.layers.Flatten(**options)]
    return [keras.layers.Flatten("channels_last", **options)]


def canonical_flatten(layer, options):
    """A flatten in channel, row, column order; "channels_last" is Keras's term for keeping the order."""
    before = [] if LAYOUT == "channels_first" else [keras.layers.Permute((3, 1, 2), name="%s_order" % layer["name"])]
    return before + [keras.layers.Flatten("channels_last", **options)]


def recurrent(layer, options):
    kind = LSTM if layer["kind"] == "lstm" else GRU
    return [kind(layer["units"], return_sequences=layer["sequence"], **options)]


def layer_norm(layer, options):
    return [keras.layers.LayerNormalization(epsilon=layer["epsilon"], **options)]


def in_full(kind):
    """A layer of detectors, which computes in no type of 16 bits."""
    return lambda layer, options: [kind(layer, dtype=keras.config.floatx(), **options)]


LAYERS = {
    "add": lambda layer, options: [keras.layers.Add(**options)],
    "attention": lambda layer, options: [Attention(layer["heads"], layer["causal"], **options)],
    "avg_pool": avg_pool,
    "batch_norm": batch_norm,
    "concat": concat,
    "conv2d": conv2d,
    "cut": lambda layer, options: [Cut(layer["first"], layer["last"], **options)],
    "dense": dense,
    "detections": in_full(Detections),
    "dropout": lambda layer, options: [keras.layers.Dropout(layer["rate"], **options)],
    "embedding": lambda layer, options: [Embedding(layer["vocabulary"], layer["output"][-1], **options)],
    "first_step": lambda layer, options: [FirstStep(**options)],
    "flatten": flatten,
    "gelu": lambda layer, options: [GELU(tanh=False, **options)],
    "gelu_tanh": lambda layer, options: [GELU(tanh=True, **options)],
    "grouped_conv2d": conv2d,
    "gru": recurrent,
    "layer_norm": layer_norm,
    "local_response_norm": local_response_norm,
    "log_softmax": lambda layer, options: [keras.layers.Activation("log_softmax", **options)],
    "lstm": recurrent,
    "max_pool": max_pool,
    "pad_channels": pad_channels,
    "positions": lambda layer, options: [Positions(**options)],
    "region_proposals": in_full(RegionProposals),
    "roi_align": in_full(RoIAlign),
    "relu": lambda layer, options: [keras.layers.Activation("relu", **options)],
    "sigmoid": lambda layer, options: [keras.layers.Activation("sigmoid", **options)],
    "tanh": lambda layer, options: [keras.layers.Activation("tanh", **options)],
    "tied_dense": lambda layer, options: [TiedDense(**options)],
}


def _padding(layer, window, pad):
    """The padding that the Keras layer does itself, and the padding layers that must precede it."""
    sides = [tuple(pair) for pair in layer["padding"]]
    if sides == [(0, 0), (0, 0)]:
        return "valid", []
    same = [_same(*sizes) for sizes in zip(layer["input"][1:], window, layer["stride"])]
    # On PyTorch Keras pads a pooling unevenly by repeating the border.
    repeats = BACKEND == "torch" and "window" in layer and any(first != last for first, last in sides)
    if sides == same and not repeats:
        return "same", []
    return "valid", [pad(sides, name="%s_pad" % layer["name"])]


def _same(size, window, stride):
    """What Keras calls "same": rows or columns before and after."""
    total = max(0, (-(-size // stride) - 1) * stride + window - size)
    return total // 2, total - total // 2


def _shares(layer):
    """The factor by which each window's mean grows when padding is not counted."""
    rows, columns = (np.array(_share(*sizes)) for sizes in zip(*_axes(layer)))
    share = rows[:, np.newaxis] * columns
    return share[np.newaxis] if LAYOUT == "channels_first" else share[..., np.newaxis]


def _axes(layer):
    return layer["input"][1:], layer["output"][1:], layer["window"], layer["stride"], layer["padding"]


def _share(size, outputs, window, stride, sides):
    starts = [output * stride - sides[0] for output in range(outputs)]
    return [window / (min(start + window, size) - max(start, 0)) for start in starts]
