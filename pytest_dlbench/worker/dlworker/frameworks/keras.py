"""Keras 3: a keras.Sequential, compiled and trained with train_on_batch. KERAS_BACKEND chooses the back end.

Keras decides itself how a step is compiled (jit_compile="auto"): on TensorFlow a tf.function, with XLA only where there
is a GPU; on JAX always jitted; on PyTorch not at all, every operator runs as Python reaches it.
"""

from functools import reduce
from operator import mul

import keras
import numpy as np
from keras import ops

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
BACKEND = keras.backend.backend()

if BACKEND == "tensorflow":
    import tensorflow as tf
elif BACKEND == "jax":
    import jax
elif BACKEND == "torch":
    import torch
else:
    raise RequestError("unsupported", "the Keras builder has no back end %r" % BACKEND)

# PyTorch's operators are channels first: in Keras's usual layout every pooling copies images there and back.
LAYOUT = "channels_first" if BACKEND == "torch" else "channels_last"


def configure(threads):
    """Threads of the back end; XLA's CPU pool reads NPROC, which the driver set before this Python started."""
    if BACKEND == "tensorflow":
        tf.config.threading.set_intra_op_parallelism_threads(threads)
        tf.config.threading.set_inter_op_parallelism_threads(threads)
    elif BACKEND == "torch":
        torch.set_num_threads(threads)


def threads():
    """Threads inside one operator, or None on JAX, which does not tell the size of its pool."""
    if BACKEND == "tensorflow":
        return tf.config.threading.get_intra_op_parallelism_threads()
    return torch.get_num_threads() if BACKEND == "torch" else None


def versions():
    """Keras and its back end and, where there is, the CUDA that this was built with."""
    found = {"keras": keras.__version__}
    if BACKEND == "tensorflow":
        found.update(tensorflow=tf.__version__, cuda=tf.sysconfig.get_build_info().get("cuda_version"))
    elif BACKEND == "jax":
        found.update(jax=jax.__version__, jaxlib=jax.lib.__version__)
    else:
        found.update(torch=torch.__version__, cuda=torch.version.cuda)
    return {name: str(version) for name, version in found.items() if version is not None}


def set_precision(precision):
    """The type of everything that is built from now on."""
    if precision != "float32" and BACKEND != "tensorflow":
        # keras.backend.result_type("float64") is "float32" there (keras-team/keras#23704): tanh, sums, updates obey it.
        raise RequestError("unsupported", "on %s Keras makes float32 of float64 within its operations" % BACKEND)
    keras.config.set_floatx(precision)
    keras.config.set_dtype_policy(precision)


def rows(images, labels, index):
    """The examples of one batch, picked where they lie: a NumPy batch would travel to the device at every step."""
    if BACKEND == "tensorflow":
        return tf.gather(images, index), tf.gather(labels, index)
    return images[index], labels[index]


if BACKEND == "jax":
    # Unjitted, indexing costs JAX ten times as much.
    rows = jax.jit(rows)


class UnbiasedBatchNormalization(keras.layers.BatchNormalization):
    """Batch normalisation whose moving variance is the unbiased one; Keras keeps the biased one."""

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
    """Padding that never wins a maximum."""

    def call(self, inputs):
        sides = ((0, 0), (0, 0), *self.padding) if LAYOUT == "channels_first" else ((0, 0), *self.padding, (0, 0))
        return ops.pad(inputs, sides, constant_values=-float("inf"))


def coupled_sgd(rate, decay, **options):
    """SGD whose weight decay is a part of the gradient; in Keras's own it passes by the momentum.

    A regulariser would have the same gradient, but its penalty would be a part of the loss that train_on_batch gives.
    """

    # The class that Keras makes of SGD on this back end: on PyTorch that one updates all arrays at once.
    class CoupledSGD(type(keras.optimizers.SGD())):
        def apply(self, grads, trainable_variables=None):
            variables = self._trainable_variables if trainable_variables is None else trainable_variables
            decayed = [gradient + decay * variable.value for gradient, variable in zip(grads, variables)]
            super().apply(decayed, trainable_variables)

    return CoupledSGD(rate, **options)


# Every kind of layer is a function (layer, options) -> Keras layers, of which the last one takes the options.


def conv2d(layer, options):
    padding, before = _padding(layer, layer["kernel"], keras.layers.ZeroPadding2D)
    filters, kernel, stride = layer["output"][0], layer["kernel"], layer["stride"]
    return before + [keras.layers.Conv2D(filters, kernel, stride, padding, use_bias=layer["bias"], **options)]


def dense(layer, options):
    return [keras.layers.Dense(layer["output"][0], use_bias=layer["bias"], **options)]


def max_pool(layer, options):
    padding, before = _padding(layer, layer["window"], LowestPadding2D)
    return before + [keras.layers.MaxPooling2D(layer["window"], layer["stride"], padding, **options)]


def avg_pool(layer, options):
    padding, before = _padding(layer, layer["window"], keras.layers.ZeroPadding2D)
    if not before:
        return [keras.layers.AveragePooling2D(layer["window"], layer["stride"], padding, **options)]
    # The zeros have been counted, too.
    pool = keras.layers.AveragePooling2D(layer["window"], layer["stride"], name="%s_counted" % layer["name"])
    return before + [pool, keras.layers.Rescaling(_shares(layer), **options)]


def batch_norm(layer, options):
    axis = 1 if len(layer["input"]) == 3 and LAYOUT == "channels_first" else -1
    return [UnbiasedBatchNormalization(axis, momentum=layer["decay"], epsilon=layer["epsilon"], **options)]


LAYERS = {
    "conv2d": conv2d,
    "dense": dense,
    "max_pool": max_pool,
    "avg_pool": avg_pool,
    "batch_norm": batch_norm,
    "dropout": lambda layer, options: [keras.layers.Dropout(layer["rate"], **options)],
    # In both layouts Keras flattens in row, column, channel order.
    "flatten": lambda layer, options: [keras.layers.Flatten(**options)],
    "relu": lambda layer, options: [keras.layers.Activation("relu", **options)],
    "tanh": lambda layer, options: [keras.layers.Activation("tanh", **options)],
    "sigmoid": lambda layer, options: [keras.layers.Activation("sigmoid", **options)],
}


def _padding(layer, window, pad):
    """The padding that the Keras layer does itself, and the layers that must come before it."""
    sides = [tuple(pair) for pair in layer["padding"]]
    if sides == [(0, 0), (0, 0)]:
        return "valid", []
    same = [_same(*sizes) for sizes in zip(layer["input"][1:], window, layer["stride"])]
    # On PyTorch Keras pads a pooling unevenly by repeating the border.
    repeats = BACKEND == "torch" and layer["kind"] != "conv2d" and any(first != last for first, last in sides)
    if sides == same and not repeats:
        return "same", []
    return "valid", [pad(sides, name="%s_pad" % layer["name"])]


def _same(size, window, stride):
    """What Keras calls "same", in rows or columns before and after."""
    total = max(0, (-(-size // stride) - 1) * stride + window - size)
    return total // 2, total - total // 2


def _shares(layer):
    """By how much the mean over each window grows when padding is not counted."""
    rows, columns = (np.array(_share(*sizes)) for sizes in zip(*_axes(layer)))
    share = rows[:, np.newaxis] * columns
    return share[np.newaxis] if LAYOUT == "channels_first" else share[..., np.newaxis]


def _axes(layer):
    return layer["input"][1:], layer["output"][1:], layer["window"], layer["stride"], layer["padding"]


def _share(size, outputs, window, stride, sides):
    starts = [output * stride - sides[0] for output in range(outputs)]
    return [window / (min(start + window, size) - max(start, 0)) for start in starts]


def _with_activations(layers):
    """Pairs of a layer and the activation, or None, that Keras's users write as an argument of that layer."""
    pairs = []
    for layer in layers:
        takes = pairs and pairs[-1][0]["kind"] in ("conv2d", "dense") and pairs[-1][1] is None
        if layer["kind"] in ("relu", "tanh", "sigmoid") and takes:
            pairs[-1] = (pairs[-1][0], layer)
        else:
            pairs.append((layer, None))
    return pairs


def build(network):
    """The neutral network as one Sequential, and its layers with weights by their neutral name."""
    stack, weighted = [keras.Input(_native_shape(network["input"]))], {}
    for layer, activation in _with_activations(network["layers"]):
        if layer["kind"] not in LAYERS:
            raise RequestError("unsupported", "the Keras builder has no layer %r" % layer["kind"])
        options = {"name": layer["name"]}
        if activation is not None:
            options = {"name": "%s_%s" % (layer["name"], activation["name"]), "activation": activation["kind"]}
        stack += LAYERS[layer["kind"]](layer, options)
        weighted[layer["name"]] = stack[-1]
    if network["layers"][-1]["kind"] != "dense":
        # On TensorFlow Keras's cross-entropy takes what went into a sigmoid for the logits; nothing went into this one.
        stack.append(keras.layers.Reshape((network["classes"],), name="logits"))
    return keras.Sequential(stack), weighted


def _native_shape(shape):
    return tuple(shape[1:] + shape[:1]) if len(shape) == 3 and LAYOUT == "channels_last" else tuple(shape)


def _native_images(images):
    images = np.moveaxis(images, 1, -1) if images.ndim == 4 and LAYOUT == "channels_last" else images
    return np.ascontiguousarray(images, dtype=keras.config.floatx())


def _optimizer(settings):
    if settings["kind"] != "sgd":
        raise RequestError("unsupported", "the Keras builder has no optimiser %r" % settings["kind"])
    # Keras's velocity has the learning rate in it; as long as the rate is constant that is the neutral update.
    # Keras has TensorFlow make float32 of a plain momentum, also where all else is float64.
    rate, options = settings["learning_rate"], {"momentum": np.float64(settings["momentum"])}
    options["nesterov"] = settings["nesterov"]
    if settings["weight_decay"]:
        return coupled_sgd(rate, settings["weight_decay"], **options)
    return keras.optimizers.SGD(rate, **options)


ROLES = {"weight": "kernel", "bias": "bias", "scale": "gamma", "shift": "beta"}


class Trainer:
    """The network, compiled, and the examples, on one device."""

    def __init__(self, network, recipe, weights, device, seed):
        self.device = device
        if BACKEND == "tensorflow" and device != "cpu" and not tf.config.list_physical_devices("GPU"):
            # TensorFlow would compute on the CPU without a word.
            raise RequestError("unsupported", "TensorFlow finds no GPU")
        set_precision(recipe["precision"])
        keras.config.set_image_data_format(LAYOUT)
        keras.utils.set_random_seed(seed)
        self.layers = network["layers"]
        with keras.device(self.device):
            self.model, self.weighted = build(network)
            if weights is not None:
                self._set(weights)
            loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
            self.model.compile(_optimizer(recipe["optimizer"]), loss)

    def _natives(self):
        """Canonical name, native variable and, behind a flatten, the shape of the image that was flattened."""
        image = None
        for layer in self.layers:
            if layer["kind"] == "flatten" and len(layer["input"]) == 3:
                image = layer["input"]
            for role in ("weight", "bias") if layer["kind"] != "batch_norm" else ("scale", "shift"):
                variable = getattr(self.weighted.get(layer["name"]), ROLES[role], None)
                if variable is not None:
                    yield "%s.%s" % (layer["name"], role), variable, None if role == "bias" else image
            if layer["kind"] == "dense":
                image = None

    def _set(self, weights):
        for name, variable, image in self._natives():
            array = weights[name]
            if array.ndim == 4:
                array = array.transpose(2, 3, 1, 0)
            elif image is not None:
                array = np.moveaxis(array.reshape(*image, -1), 0, 2).reshape(array.shape)
            # assign() refuses another shape.
            variable.assign(array)

    def parameters(self):
        shapes = {name: tuple(variable.shape) for name, variable, _ in self._natives()}
        return {name: (s[3], s[2], s[0], s[1]) if len(s) == 4 else s for name, s in shapes.items()}

    def describe(self):
        lines = []
        self.model.summary(print_fn=lines.append, line_length=120)
        return "\n".join(lines)

    def load(self, inputs, labels, order, rates=None):
        with keras.device(self.device):
            self.images = ops.convert_to_tensor(_native_images(inputs))
            self.labels = ops.convert_to_tensor(np.array(labels, dtype=np.int32))
        self.order = np.array(order, dtype=np.int32)

    def step(self, number):
        with keras.device(self.device):
            return self.model.train_on_batch(*rows(self.images, self.labels, self.order[number]))

    def evaluate(self, inputs, labels, batch_size):
        correct, total = 0, 0.0
        with keras.device(self.device):
            for first in range(0, len(labels), batch_size):
                batch = slice(first, first + batch_size)
                expected = np.array(labels[batch], dtype=np.int32)
                logits = self.model.predict_on_batch(_native_images(inputs[batch]))
                losses = keras.losses.sparse_categorical_crossentropy(expected, logits, from_logits=True)
                correct += int((logits.argmax(1) == expected).sum())
                total += float(ops.convert_to_numpy(losses).sum(dtype=np.float64))
        return correct, total / len(labels)
