"""Every kind of layer as Keras 2 layers: its own if they compute the canonical layer, otherwise written here."""

import importlib
import os

import numpy as np

BACKEND = os.environ.get("KERAS_BACKEND", "tensorflow")
# The backend's own builder sets its threads. Imported before Keras: Theano reads its flags at import.
_builder = "dlworker.frameworks." + {"tensorflow": "tensorflow1"}.get(BACKEND, BACKEND)
native, native_layers = importlib.import_module(_builder), importlib.import_module(_builder + ".layers")

from keras import backend as K  # noqa: E402, N812 - the name it has in Keras' own documentation
from keras import layers as L  # noqa: E402, N812

from dlworker.protocol import RequestError  # noqa: E402

# The other two are natively channels first; TensorFlow has no such convolution on a CPU.
K.set_image_data_format("channels_last" if BACKEND == "tensorflow" else "channels_first")
CHANNELS = -1 if BACKEND == "tensorflow" else 1


class MinusInfinityPadding2D(L.ZeroPadding2D):
    """ZeroPadding2D for max pooling: pads with minus infinity."""

    def __init__(self, layer, **kwargs):
        super().__init__(layer["padding"], **kwargs)
        image = np.zeros(layer["input"][1:])
        self.ground = _as_images(np.pad(image, layer["padding"], "constant", constant_values=-np.inf))

    def call(self, inputs):
        return super().call(inputs) + self.ground


class AveragePooling2DOfImage(L.AveragePooling2D):
    """Average pooling after ZeroPadding2D that excludes the zeros from the mean."""

    def __init__(self, layer, **kwargs):
        super().__init__(layer["window"], layer["stride"], **kwargs)
        sizes = zip(layer["input"][1:], layer["padding"], layer["window"], layer["stride"])
        self.shares = _as_images(np.outer(*[_share(*size) for size in sizes]))

    def call(self, inputs):
        return super().call(inputs) / self.shares


def _share(size, sides, window, stride):
    """The fraction of each window that lies inside the image, along one axis."""
    first = np.arange((size + sum(sides) - window) // stride + 1) * stride - sides[0]
    return (np.minimum(first + window, size) - np.maximum(first, 0)) / float(window)


def _as_images(array):
    """An array of rows and columns as a constant that broadcasts over a batch of images and their channels."""
    array = array[..., np.newaxis] if CHANNELS == -1 else array[np.newaxis]
    return K.constant(array, shape=array.shape)


class UnbiasedBatchNormalization(L.BatchNormalization):
    """Batch normalisation with n/(n-1) times the batch's variance as running variance, and epsilon as given.

    Keras's own uses n/(n-1-epsilon), with TensorFlow's fused kernel on top of n/(n-1), and has no float64.
    """

    def call(self, inputs, training=None):
        normalized, mean, variance = self._in_training(inputs)
        moves, decay = ((self.moving_mean, mean), (self.moving_variance, variance)), self.momentum
        self.add_update([K.update(old, decay * old + (1 - decay) * new) for old, new in moves], inputs)
        return K.in_train_phase(
            normalized, lambda: self._normalized(inputs, self.moving_mean, self.moving_variance), training=training
        )

    def _in_training(self, inputs):
        if BACKEND == "tensorflow" and self.axis % K.ndim(inputs) == K.ndim(inputs) - 1:
            return native_layers.normalized(inputs, self.gamma, self.beta, self.epsilon)
        axes = [axis for axis in range(K.ndim(inputs)) if axis != self.axis % K.ndim(inputs)]
        mean, variance = K.mean(inputs, axes), K.var(inputs, axes)
        count = K.cast(K.prod([K.shape(inputs)[axis] for axis in axes]), K.dtype(inputs))
        return self._normalized(inputs, mean, variance), mean, variance * (count / (count - 1))

    def _normalized(self, inputs, mean, variance):
        scale = self.gamma / K.sqrt(variance + self.epsilon)
        shape = [1] * K.ndim(inputs)
        shape[self.axis] = K.int_shape(inputs)[self.axis]
        return inputs * K.reshape(scale, shape) + K.reshape(self.beta - mean * scale, shape)


class NativeBatchNormalization(L.BatchNormalization):
    """For CNTK, where Keras's has an epsilon of 1e-3, and running statistics from a second pass, after the update."""

    def __init__(self, batch_size, **kwargs):
        super().__init__(**kwargs)
        self.batch_size = batch_size

    def call(self, inputs, training=None):
        normalized = native_layers.C.batch_normalization(
            inputs,
            self.gamma,
            self.beta,
            native_layers.C.constant(0, self.gamma.shape),
            native_layers.C.constant(1, self.gamma.shape),
            # With a count of 0, the first batch would replace the running statistics entirely.
            running_count=native_layers.C.constant(1, ()),
            spatial=K.ndim(inputs) == 4,
            # CNTK's decay is exp(-examples / constant).
            normalization_time_constant=-self.batch_size / np.log(self.momentum) if self.momentum else 0.0,
            epsilon=self.epsilon,
        )
        # By default Keras evaluates in CNTK's training mode.
        normalized._uses_learning_phase = True
        return normalized


class FirstMaxPooling2D(L.MaxPooling2D):
    """For Theano: the gradient of several equal values goes to the first instead of to each of them."""

    def _pooling_function(self, inputs, pool_size, strides, padding, data_format):
        return native_layers.FirstMaxPool(ignore_border=True)(inputs, pool_size, strides, (0, 0))


class GroupedConv2D(L.Conv2D):
    """A grouped convolution, which no Keras 2 has: one convolution per group, concatenated."""

    def __init__(self, groups, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.groups = groups

    def build(self, input_shape):
        shape = list(input_shape)
        shape[CHANNELS] //= self.groups
        super().build(tuple(shape))
        # The input is the whole image.
        self.input_spec = None

    def call(self, inputs):
        channels, filters = K.int_shape(self.kernel)[2], self.filters // self.groups
        settings = {"strides": self.strides, "padding": self.padding, "data_format": self.data_format}
        outputs = []
        for group in range(self.groups):
            image = _channels(inputs, group * channels, channels)
            kernel = self.kernel[:, :, :, group * filters : (group + 1) * filters]
            outputs.append(K.conv2d(image, kernel, **settings))
        outputs = K.concatenate(outputs, axis=CHANNELS)
        return K.bias_add(outputs, self.bias, data_format=self.data_format) if self.use_bias else outputs


def _channels(images, first, count):
    return images[:, :, :, first : first + count] if CHANNELS == -1 else images[:, first : first + count]


class LocalResponseNormalization(L.Layer):
    """Local response normalisation, which Keras lacks; TensorFlow has one for float32."""

    def __init__(self, layer, **kwargs):
        super().__init__(**kwargs)
        self.channels = layer["input"][0]
        self.size, self.alpha, self.beta, self.k = (layer[name] for name in ("size", "alpha", "beta", "k"))

    def call(self, inputs):
        around, share = self.size // 2, self.alpha / self.size
        if BACKEND == "tensorflow" and K.dtype(inputs) == "float32":
            # TensorFlow does not divide alpha by the size.
            return native_layers.tf.nn.local_response_normalization(inputs, around, self.k, share, self.beta)
        squares = _with_channels(K.square(inputs), around, around)
        sums = sum(_channels(squares, first, self.channels) for first in range(self.size))
        # CNTK's power is not exact.
        return inputs * K.exp(-self.beta * K.log(self.k + share * sums))


def _with_channels(images, before, after):
    """Pad with channels of zeros: padding the rows of the other layout pads the channels of this one."""
    if CHANNELS == -1:
        return K.spatial_2d_padding(images, ((0, 0), (before, after)), "channels_first")
    return K.spatial_2d_padding(images, ((before, after), (0, 0)), "channels_last")


class Cut(L.Layer):
    """A slice of each row of tokens."""

    def __init__(self, first, last, **kwargs):
        super().__init__(**kwargs)
        self.first, self.last = first, last

    def call(self, inputs):
        return inputs[:, self.first : self.last]

    def compute_output_shape(self, input_shape):
        return (input_shape[0], self.last - self.first)


def relu(x):
    """Theano's own has a gradient at 0, the value of blank images before the first update."""
    return x * K.cast(K.greater(x, 0), K.dtype(x))


def log_softmax(x):
    """log_softmax, which Keras 2 lacks."""
    x = x - K.stop_gradient(K.max(x, axis=-1, keepdims=True))
    return x - K.log(K.sum(K.exp(x), axis=-1, keepdims=True))


# For each kind of layer, a function (layer, batch size) -> Keras layers; the last has the layer's name.


def conv2d(layer, batch_size):
    padding, before = _padding(layer, layer["kernel"], L.ZeroPadding2D)
    settings = {"strides": layer["stride"], "padding": padding, "use_bias": layer["bias"], "name": layer["name"]}
    return before + [L.Conv2D(layer["output"][0], layer["kernel"], **settings)]


def grouped_conv2d(layer, batch_size):
    padding, before = _padding(layer, layer["kernel"], L.ZeroPadding2D)
    settings = {"strides": layer["stride"], "padding": padding, "use_bias": layer["bias"], "name": layer["name"]}
    return before + [GroupedConv2D(layer["groups"], layer["output"][0], layer["kernel"], **settings)]


def pad_channels(layer, batch_size):
    # Padding the rows and columns of the other layout pads the channels of this one.
    if CHANNELS == -1:
        return [L.ZeroPadding2D(((0, 0), (0, layer["added"])), data_format="channels_first", name=layer["name"])]
    return [L.ZeroPadding2D(((0, layer["added"]), (0, 0)), data_format="channels_last", name=layer["name"])]


def concat(layer, batch_size):
    return [L.Concatenate(CHANNELS if len(layer["output"]) == 3 else -1, name=layer["name"])]


def embedding(layer, batch_size):
    return [L.Embedding(layer["vocabulary"], layer["output"][-1], name=layer["name"])]


def lstm(layer, batch_size):
    return [L.LSTM(layer["units"], **_recurrent(layer))]


def gru(layer, batch_size):
    return [L.GRU(layer["units"], reset_after=True, **_recurrent(layer))]


def _recurrent(layer):
    """Arguments of a recurrent layer: before 2.3 Keras used another sigmoid, and one product per gate."""
    settings = {"recurrent_activation": "sigmoid", "implementation": 2, "name": layer["name"]}
    return dict(settings, return_sequences=layer["sequence"], return_state=layer["ends"])


def max_pool(layer, batch_size):
    pooling = FirstMaxPooling2D if BACKEND == "theano" else L.MaxPooling2D
    padding, before = _padding(layer, layer["window"], lambda _, name: MinusInfinityPadding2D(layer, name=name))
    return before + [pooling(layer["window"], layer["stride"], padding, name=layer["name"])]


def avg_pool(layer, batch_size):
    padding, before = _padding(layer, layer["window"], L.ZeroPadding2D)
    if before:
        return before + [AveragePooling2DOfImage(layer, name=layer["name"])]
    return [L.AveragePooling2D(layer["window"], layer["stride"], padding, name=layer["name"])]


def batch_norm(layer, batch_size):
    # For a sequence, the steps play the role of channels.
    axis = CHANNELS if len(layer["input"]) == 3 else 1
    settings = {"axis": axis, "momentum": layer["decay"], "epsilon": layer["epsilon"], "name": layer["name"]}
    if BACKEND == "cntk" and len(layer["input"]) == 2:
        raise RequestError("unsupported", "CNTK does not support batch_norm of sequences")
    if BACKEND == "cntk":
        return [NativeBatchNormalization(batch_size, **settings)]
    return [UnbiasedBatchNormalization(**settings)]


def flatten(layer, batch_size):
    if len(layer["input"]) == 1:
        return [L.Activation("linear", name=layer["name"])]
    # "channels_last" is Keras's term for keeping the order: channel, row, column if channels are first.
    before = [L.Permute((3, 1, 2))] if CHANNELS == -1 and layer["canonical"] else []
    return before + [L.Flatten("channels_last", name=layer["name"])]


LAYERS = {
    "add": lambda layer, batch_size: [L.Add(name=layer["name"])],
    "concat": concat,
    "conv2d": conv2d,
    "cut": lambda layer, batch_size: [Cut(layer["first"], layer["last"], name=layer["name"])],
    "embedding": embedding,
    "grouped_conv2d": grouped_conv2d,
    "gru": gru,
    "local_response_norm": lambda layer, batch_size: [LocalResponseNormalization(layer, name=layer["name"])],
    "log_softmax": lambda layer, batch_size: [L.Activation(log_softmax, name=layer["name"])],
    "lstm": lstm,
    "pad_channels": pad_channels,
    "max_pool": max_pool,
    "avg_pool": avg_pool,
    "batch_norm": batch_norm,
    "dense": lambda layer, batch_size: [L.Dense(layer["output"][-1], use_bias=layer["bias"], name=layer["name"])],
    "flatten": flatten,
    "dropout": lambda layer, batch_size: [L.Dropout(layer["rate"], name=layer["name"])],
    "relu": lambda layer, batch_size: [L.Activation(relu if BACKEND == "theano" else "relu", name=layer["name"])],
    "tanh": lambda layer, batch_size: [L.Activation("tanh", name=layer["name"])],
    "sigmoid": lambda layer, batch_size: [L.Activation("sigmoid", name=layer["name"])],
}


def _padding(layer, window, padded):
    """The padding that the layer does itself, and the padding that must precede it."""
    pads = tuple(tuple(sides) for sides in layer["padding"])
    if pads == ((0, 0), (0, 0)):
        return "valid", []
    if pads == tuple(_same(*sizes) for sizes in zip(layer["input"][1:], window, layer["stride"])):
        # With other strides, an even window, or in pooling, "same" means something different on each backend.
        alike = "kernel" in layer and list(layer["stride"]) == [1, 1] and all(size % 2 for size in window)
        if BACKEND == "tensorflow" or alike:
            return "same", []
    return "valid", [padded(pads, name="%s_pad" % layer["name"])]


def _same(size, window, stride):
    """The padding before and after of TensorFlow's "same"."""
    total = max(0, (-(-size // stride) - 1) * stride + window - size)
    return total // 2, total - total // 2
