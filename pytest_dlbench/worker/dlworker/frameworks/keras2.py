"""Keras 2 on TensorFlow 1, Theano or CNTK, whichever KERAS_BACKEND names: a Sequential that is fed batch by batch."""

import importlib
import os

import numpy as np

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
BACKEND = os.environ.get("KERAS_BACKEND", "tensorflow")
# The backend's own builder sets its threads. It comes before Keras: Theano reads its flags when it is imported.
native = importlib.import_module("dlworker.frameworks." + {"tensorflow": "tensorflow1"}.get(BACKEND, BACKEND))

import keras  # noqa: E402
from keras import backend as K  # noqa: E402, N812 - the name it has in Keras' own documentation
from keras import layers as L  # noqa: E402, N812

configure, threads = native.configure, native.threads
# Channels first is the native layout of the other two, and TensorFlow has no convolution for it on a CPU.
K.set_image_data_format("channels_last" if BACKEND == "tensorflow" else "channels_first")
BEFORE_2_3 = keras.__version__.startswith(("2.0", "2.1", "2.2"))
CHANNELS = -1 if BACKEND == "tensorflow" else 1


def versions():
    """Keras and what it computes with."""
    return dict(native.versions(), keras=keras.__version__)


class MinusInfinityPadding2D(L.ZeroPadding2D):
    """What ZeroPadding2D is for sums, this is for the maximum."""

    def __init__(self, layer, **kwargs):
        super().__init__(layer["padding"], **kwargs)
        image = np.zeros(layer["input"][1:])
        self.ground = _as_images(np.pad(image, layer["padding"], "constant", constant_values=-np.inf))

    def call(self, inputs):
        return super().call(inputs) + self.ground


class AveragePooling2DOfImage(L.AveragePooling2D):
    """Average pooling after ZeroPadding2D, which leaves the zeros out of the mean."""

    def __init__(self, layer, **kwargs):
        super().__init__(layer["window"], layer["stride"], **kwargs)
        sizes = zip(layer["input"][1:], layer["padding"], layer["window"], layer["stride"])
        self.shares = _as_images(np.outer(*[_share(*size) for size in sizes]))

    def call(self, inputs):
        return super().call(inputs) / self.shares


def _share(size, sides, window, stride):
    """Which share of each window lies in the image, along one axis."""
    first = np.arange((size + sum(sides) - window) // stride + 1) * stride - sides[0]
    return (np.minimum(first + window, size) - np.maximum(first, 0)) / float(window)


def _as_images(array):
    """Rows and columns as a constant that fits a batch of images with any channels."""
    array = array[..., np.newaxis] if CHANNELS == -1 else array[np.newaxis]
    return K.constant(array, shape=array.shape)


class UnbiasedBatchNormalization(L.BatchNormalization):
    """Batch normalisation whose running variance is that of the batch times n/(n-1), and no epsilon is raised.

    Keras' own has n/(n-1-epsilon), on TensorFlow's fused kernel on top of n/(n-1), and there is none for float64.
    """

    def call(self, inputs, training=None):
        normalized, mean, variance = self._in_training(inputs)
        moves, decay = ((self.moving_mean, mean), (self.moving_variance, variance)), self.momentum
        self.add_update([K.update(old, decay * old + (1 - decay) * new) for old, new in moves], inputs)
        return K.in_train_phase(
            normalized, lambda: self._normalized(inputs, self.moving_mean, self.moving_variance), training=training
        )

    def _in_training(self, inputs):
        if BACKEND == "tensorflow":
            return native.normalized(inputs, self.gamma, self.beta, self.epsilon)
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
    """On CNTK: Keras' own has an epsilon of 1e-3 there, and running statistics of a second pass, after the update."""

    def __init__(self, batch_size, **kwargs):
        super().__init__(**kwargs)
        self.batch_size = batch_size

    def call(self, inputs, training=None):
        normalized = native.C.batch_normalization(
            inputs,
            self.gamma,
            self.beta,
            native.C.constant(0, self.gamma.shape),
            native.C.constant(1, self.gamma.shape),
            # Counted from 0, the first batch would be the whole of the running statistics.
            running_count=native.C.constant(1, ()),
            spatial=K.ndim(inputs) == 4,
            # CNTK's decay is exp(-examples / constant).
            normalization_time_constant=-self.batch_size / np.log(self.momentum) if self.momentum else 0.0,
            epsilon=self.epsilon,
        )
        # Keras evaluates in CNTK's training mode what says nothing of it.
        normalized._uses_learning_phase = True
        return normalized


class FirstMaxPooling2D(L.MaxPooling2D):
    """On Theano: the gradient of several equal values goes to the first, and not to each of them."""

    def _pooling_function(self, inputs, pool_size, strides, padding, data_format):
        return native.FirstMaxPool(ignore_border=True)(inputs, pool_size, strides, (0, 0))


def relu(x):
    """Theano's own has a gradient at 0, which is where blank images are before the first update."""
    return x * K.cast(K.greater(x, 0), K.dtype(x))


def softmax_cross_entropy(labels, logits):
    """Of one-hot labels, and without the softmax of the last layer, whose results Keras clips at 1e-7."""
    if BACKEND != "theano":
        return K.categorical_crossentropy(labels, logits, from_logits=True)
    # There Keras clips these, too.
    logits = logits - K.stop_gradient(K.max(logits, axis=-1, keepdims=True))
    return K.logsumexp(logits, axis=-1) - K.sum(labels * logits, axis=-1)


class DecayingSGD(keras.optimizers.SGD):
    """Keras' SGD with weight decay in the gradients: as a regularizer it would be a part of the loss."""

    def __init__(self, weight_decay, **kwargs):
        super().__init__(**kwargs)
        self.weight_decay = weight_decay

    def get_gradients(self, loss, params):
        gradients = super().get_gradients(loss, params)
        return [gradient + self.weight_decay * p for gradient, p in zip(gradients, params)]


# Every layer is a function (layer, batch size) -> Keras layers; the last one bears its name.


def conv2d(layer, batch_size):
    padding, before = _padding(layer, layer["kernel"], L.ZeroPadding2D)
    settings = {"strides": layer["stride"], "padding": padding, "use_bias": layer["bias"], "name": layer["name"]}
    return before + [L.Conv2D(layer["output"][0], layer["kernel"], **settings)]


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
    axis = CHANNELS if len(layer["input"]) == 3 else -1
    settings = {"axis": axis, "momentum": layer["decay"], "epsilon": layer["epsilon"], "name": layer["name"]}
    if BACKEND == "cntk":
        return [NativeBatchNormalization(batch_size, **settings)]
    return [UnbiasedBatchNormalization(**settings)]


def flatten(layer, batch_size):
    if len(layer["input"]) == 1:
        return [L.Activation("linear", name=layer["name"])]
    # This is Keras' word for leaving the order as it is: channel, row, column where channels are first.
    return [L.Flatten("channels_last", name=layer["name"])]


LAYERS = {
    "conv2d": conv2d,
    "max_pool": max_pool,
    "avg_pool": avg_pool,
    "batch_norm": batch_norm,
    "dense": lambda layer, batch_size: [L.Dense(layer["output"][0], use_bias=layer["bias"], name=layer["name"])],
    "flatten": flatten,
    "dropout": lambda layer, batch_size: [L.Dropout(layer["rate"], name=layer["name"])],
    "relu": lambda layer, batch_size: [L.Activation(relu if BACKEND == "theano" else "relu", name=layer["name"])],
    "tanh": lambda layer, batch_size: [L.Activation("tanh", name=layer["name"])],
    "sigmoid": lambda layer, batch_size: [L.Activation("sigmoid", name=layer["name"])],
}


def _padding(layer, window, padded):
    """The padding that the layer does itself, and what must come before it."""
    pads = tuple(tuple(sides) for sides in layer["padding"])
    if pads == ((0, 0), (0, 0)):
        return "valid", []
    if pads == tuple(_same(*sizes) for sizes in zip(layer["input"][1:], window, layer["stride"])):
        # With other strides, an even window, or in pooling each backend means something else by "same".
        alike = "kernel" in layer and list(layer["stride"]) == [1, 1] and all(size % 2 for size in window)
        if BACKEND == "tensorflow" or alike:
            return "same", []
    return "valid", [padded(pads, name="%s_pad" % layer["name"])]


def _same(size, window, stride):
    """What TensorFlow's "same" puts before and after."""
    total = max(0, (-(-size // stride) - 1) * stride + window - size)
    return total // 2, total - total // 2


def build(network, batch_size):
    """The neutral network as one Sequential."""
    model, layers, image = keras.models.Sequential(), network["layers"], network["input"]
    model.add(L.InputLayer(tuple(image[1:] + image[:1] if CHANNELS == -1 else image)))
    for position, layer in enumerate(layers):
        if layer["kind"] not in LAYERS:
            raise RequestError("unsupported", "the Keras 2 builder has no layer %r" % layer["kind"])
        is_last = CHANNELS == -1 and layer["kind"] == "flatten" and len(layer["input"]) == 3
        if is_last and not _is_reordered(layers[position:]):
            # No weights follow that could have the channels last.
            model.add(L.Permute((3, 1, 2)))
        for built in LAYERS[layer["kind"]](layer, batch_size):
            model.add(built)
    return model


def _is_reordered(layers):
    """Whether the weights behind a flattened image are in another order than the canonical one."""
    return CHANNELS == -1 and len(layers[0]["input"]) == 3 and any(layer["kind"] == "dense" for layer in layers)


ROLES = {"weight": "kernel", "bias": "bias", "scale": "gamma", "shift": "beta"}


def _to_native(layer, role, array, image):
    """A canonical array as Keras has it; ``image`` is the shape that was flattened with its channels last, or None."""
    if layer["kind"] == "conv2d" and role == "weight":
        array = array.transpose(2, 3, 1, 0)
        # On Theano a convolution is one: the kernel is turned around.
        return array[::-1, ::-1] if BACKEND == "theano" else array
    if image and role in ("weight", "scale", "shift"):
        return array.reshape(*image + [-1]).transpose(1, 2, 0, 3).reshape(array.shape)
    return array


class Trainer:
    """The compiled model, and the examples as NumPy arrays: Keras puts each batch where the backend wants it."""

    def __init__(self, network, recipe, weights, device, seed):
        _require(device, recipe["precision"])
        self.network, self.dtype = network, recipe["precision"]
        _begin(self.dtype, seed)
        self.model = build(network, recipe["batch_size"])
        if weights is not None:
            for name, layer, role, variable, image in self._natives():
                K.set_value(variable, np.ascontiguousarray(_to_native(layer, role, weights[name], image)))
        self.model.compile(_optimizer(recipe["optimizer"]), softmax_cross_entropy)

    def _natives(self):
        """Canonical name, layer, role and variable, and which image the layer's inputs were, if they were reordered."""
        image, layers = None, self.network["layers"]
        for position, layer in enumerate(layers):
            if layer["kind"] == "flatten":
                image = layer["input"] if _is_reordered(layers[position:]) else image
            for role in ("weight", "bias", "scale", "shift"):
                variable = getattr(self.model.get_layer(layer["name"]), ROLES[role], None)
                if variable is not None:
                    yield "%s.%s" % (layer["name"], role), layer, role, variable, image
            if layer["kind"] == "dense":
                image = None

    def parameters(self):
        shapes = {}
        for name, _, _, variable, _ in self._natives():
            shape = K.int_shape(variable)
            shapes[name] = tuple(shape[i] for i in (3, 2, 0, 1)) if len(shape) == 4 else tuple(shape)
        return shapes

    def describe(self):
        lines = []
        self.model.summary(line_length=100, print_fn=lines.append)
        return "\n".join(lines)

    def load(self, inputs, labels, order, rates=None):
        self.images, self.order = self._images(inputs), np.array(order)
        self.labels = keras.utils.to_categorical(labels, self.network["classes"]).astype(self.dtype)

    def _images(self, images):
        return np.ascontiguousarray(np.moveaxis(images, 1, CHANNELS), dtype=self.dtype)

    def step(self, number):
        index = self.order[number]
        return self.model.train_on_batch(self.images[index], self.labels[index])

    def evaluate(self, inputs, labels, batch_size):
        logits = self.model.predict(self._images(inputs), batch_size=batch_size)
        labels = np.array(labels)
        correct = int((logits.argmax(axis=1) == labels).sum())
        # Keras' evaluate averages the means of the batches; these are the examples' own losses.
        logits = logits - logits.max(axis=1, keepdims=True)
        losses = np.log(np.exp(logits).sum(axis=1)) - logits[np.arange(len(labels)), labels]
        return correct, losses.mean()


def _require(device, precision):
    """Raise RequestError for what cannot be computed with, or not exactly."""
    reasons = {
        "Keras 2 is here for its backends' CPU builds: only cpu": device != "cpu",
        "Keras on CNTK has gradients in float32 only": BACKEND == "cntk" and precision != "float32",
        # A race with its backward pass: now and then a loss is far off.
        "on TensorFlow, Keras updates variables that are still read until 2.3": BACKEND == "tensorflow" and BEFORE_2_3,
        "Theano found no C++ compiler (g++)": BACKEND == "theano" and not native.theano.config.cxx,
    }
    for reason, applies in reasons.items():
        if applies:
            raise RequestError("unsupported", reason)


def _begin(precision, seed):
    """The precision, and all random numbers from the seed: Keras draws its own seeds from NumPy."""
    K.set_floatx(precision)
    np.random.seed(seed)
    if BACKEND == "tensorflow":
        K.clear_session()
        native.tf.set_random_seed(seed)
        K.set_session(native.tf.Session(config=native.CONFIG))
    elif BACKEND == "theano":
        native.theano.config.floatX = precision
    else:
        native.C.cntk_py.set_fixed_random_seed(seed)


def _optimizer(settings):
    if settings["kind"] != "sgd":
        raise RequestError("unsupported", "the Keras 2 builder has no optimiser %r" % settings["kind"])
    rates = {"lr": settings["learning_rate"], "momentum": settings["momentum"], "nesterov": settings["nesterov"]}
    if settings["weight_decay"]:
        return DecayingSGD(settings["weight_decay"], **rates)
    return keras.optimizers.SGD(**rates)
