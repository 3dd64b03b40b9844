"""TensorFlow 2: tf.Modules of tf.nn operations, trained by one tf.function. Images are channels last. No Keras."""

from functools import partial

import numpy as np
import tensorflow as tf

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


def configure(threads):
    """Threads inside one operator, and operators at once. TensorFlow takes neither after its first operator."""
    tf.config.threading.set_intra_op_parallelism_threads(threads)
    tf.config.threading.set_inter_op_parallelism_threads(threads)


def threads():
    """Threads inside one operator, as TensorFlow has them."""
    return tf.config.threading.get_intra_op_parallelism_threads()


def versions():
    """TensorFlow and, where it was built for them, CUDA and cuDNN."""
    build = tf.sysconfig.get_build_info()
    found = {"tensorflow": tf.__version__, "cuda": build.get("cuda_version"), "cudnn": build.get("cudnn_version")}
    return {name: str(version) for name, version in found.items() if version}


# A layer is made from its JSON and its native arrays, and called with (x, training, seed).
# With variables it is a tf.Module, without a function.


class Conv2D(tf.Module):
    def __init__(self, layer, arrays):
        super().__init__(layer["name"])
        self.weight, self.bias = _variable(layer, arrays, "weight"), _variable(layer, arrays, "bias")
        self.stride, self.padding = layer["stride"], _padding(layer, "kernel")

    def __call__(self, x, training, seed):
        x = tf.nn.conv2d(x, self.weight, self.stride, self.padding)
        return x if self.bias is None else tf.nn.bias_add(x, self.bias)


class Dense(tf.Module):
    def __init__(self, layer, arrays):
        super().__init__(layer["name"])
        self.weight, self.bias = _variable(layer, arrays, "weight"), _variable(layer, arrays, "bias")

    def __call__(self, x, training, seed):
        x = tf.matmul(x, self.weight)
        return x if self.bias is None else tf.nn.bias_add(x, self.bias)


class BatchNorm(tf.Module):
    def __init__(self, layer, arrays):
        super().__init__(layer["name"])
        self.scale, self.shift = _variable(layer, arrays, "scale"), _variable(layer, arrays, "shift")
        self.mean = tf.Variable(tf.zeros_like(self.scale), trainable=False)
        self.variance = tf.Variable(tf.ones_like(self.scale), trainable=False)
        self.epsilon, self.decay = layer["epsilon"], layer["decay"]

    def __call__(self, x, training, seed):
        if not training:
            return tf.nn.batch_normalization(x, self.mean, self.variance, self.shift, self.scale, self.epsilon)
        x, mean, variance = self.normalise(x)
        self.mean.assign(self.decay * self.mean + (1 - self.decay) * mean)
        self.variance.assign(self.decay * self.variance + (1 - self.decay) * variance)
        return x

    def normalise(self, x):
        """x normalised, the batch's mean and its unbiased variance."""
        mean, variance = tf.nn.moments(x, list(range(len(x.shape) - 1)))
        count = x.shape.num_elements() // x.shape[-1]
        x = tf.nn.batch_normalization(x, mean, variance, self.shift, self.scale, self.epsilon)
        return x, mean, variance * (count / (count - 1))


class FusedBatchNorm(BatchNorm):
    """The same in a third of the time, for float32 alone. Under XLA it is no faster, and loses digits."""

    def normalise(self, x):
        # Not tf.compat.v1.nn.fused_batch_norm: it raises an epsilon of 1e-5 to 1.001e-5. The variance is unbiased.
        images = x if len(x.shape) == 4 else x[:, tf.newaxis, tf.newaxis, :]
        operator = partial(tf.raw_ops.FusedBatchNormV3, mean=[], variance=[], epsilon=self.epsilon, is_training=True)
        normalised, mean, variance = operator(x=images, scale=self.scale, offset=self.shift)[:3]
        return tf.reshape(normalised, x.shape), mean, variance


def max_pool(layer, arrays):
    pool, padding = partial(tf.nn.max_pool2d, ksize=layer["window"], strides=layer["stride"]), _padding(layer, "window")
    if isinstance(padding, str):
        return _always(partial(pool, padding=padding))
    # tf.nn.max_pool2d takes rows and columns, too, but XLA does not compile that.
    return _always(lambda x: pool(tf.pad(x, padding, constant_values=-float("inf")), padding="VALID"))


def avg_pool(layer, arrays):
    pool, padding = partial(tf.nn.avg_pool2d, ksize=layer["window"], strides=layer["stride"]), _padding(layer, "window")
    if isinstance(padding, str):
        return _always(partial(pool, padding=padding))

    # Zeros that are padded here would be counted as values.
    def mean(x):
        return pool(tf.pad(x, padding), padding="VALID")

    return _always(lambda x: mean(x) / mean(tf.ones([1, x.shape[1], x.shape[2], 1], x.dtype)))


def dropout(layer, arrays):
    # Philox is what CPUs and GPUs have anyway. XLA's own choice takes twenty times as long on a CPU.
    drop = partial(tf.nn.experimental.stateless_dropout, rate=layer["rate"], rng_alg="philox")
    return lambda x, training, seed: drop(x, seed=seed) if training else x


def _always(operation):
    """A layer that is the same in training and in evaluation."""
    return lambda x, training, seed: operation(x)


LAYERS = {
    "conv2d": Conv2D,
    "dense": Dense,
    "max_pool": max_pool,
    "avg_pool": avg_pool,
    "batch_norm": BatchNorm,
    "dropout": dropout,
    "flatten": lambda layer, arrays: _always(lambda x: tf.reshape(x, [x.shape[0], -1])),
    "relu": lambda layer, arrays: _always(tf.nn.relu),
    "tanh": lambda layer, arrays: _always(tf.tanh),
    "sigmoid": lambda layer, arrays: _always(tf.sigmoid),
}


def _variable(layer, arrays, role):
    """A trainable array under its canonical name, or None where the layer has none."""
    return tf.Variable(arrays[role], name="%s.%s" % (layer["name"], role)) if role in arrays else None


def _padding(layer, window):
    """TensorFlow's word for the padding where it has one, else rows and columns for all four axes."""
    pads, same = [list(sides) for sides in layer["padding"]], []
    for size, extent, stride in zip(layer["input"][1:], layer[window], layer["stride"]):
        total = max(0, (-(-size // stride) - 1) * stride + extent - size)
        same.append([total // 2, total - total // 2])
    words = [word for word, meaning in (("VALID", [[0, 0], [0, 0]]), ("SAME", same)) if pads == meaning]
    return words[0] if words else [[0, 0]] + pads + [[0, 0]]


class Network(tf.Module):
    """The layers in their order."""

    def __init__(self, layers, arrays, kinds):
        super().__init__("network")
        for layer in layers:
            if layer["kind"] not in kinds:
                raise RequestError("unsupported", "the TensorFlow builder has no layer %r" % layer["kind"])
        self.layers = [kinds[layer["kind"]](layer, arrays[layer["name"]]) for layer in layers]

    def __call__(self, x, training, seed=0, number=0):
        """Logits. Each layer has a seed of its own in every step."""
        for place, layer in enumerate(self.layers):
            x = layer(x, training, [seed, number * len(self.layers) + place])
        return x


def _to_native(layers, weights):
    """Canonical arrays in the layout of channels-last TensorFlow, as {layer: {role: array}}."""
    native, image = {}, None
    for layer in layers:
        if layer["kind"] == "flatten" and len(layer["input"]) == 3:
            image = layer["input"]
        own = {name.split(".")[1]: array for name, array in weights.items() if name.split(".")[0] == layer["name"]}
        if layer["kind"] == "conv2d":
            own["weight"] = own["weight"].transpose(2, 3, 1, 0)
        elif image and layer["kind"] in ("dense", "batch_norm"):
            # Flattened images are row, column, channel here; the canonical order has the channel first.
            own = {role: _channels_last(array, image) if role != "bias" else array for role, array in own.items()}
        if layer["kind"] == "dense":
            image = None
        native[layer["name"]] = own
    return native


def _channels_last(array, image):
    features = array.reshape(image + [-1]).transpose(1, 2, 0, 3)
    return features.reshape(array.shape)


def _own_weights(layers, seed):
    """What tf.compat.v1.get_variable and Keras start from: Glorot uniform weights, zero biases."""
    arrays = {}
    for place, layer in enumerate(layers):
        inputs, outputs = layer["input"][0], layer["output"][0]
        own = arrays[layer["name"]] = {}
        if layer["kind"] in ("conv2d", "dense"):
            window = list(layer.get("kernel", []))
            limit = np.sqrt(6.0 / (np.prod(window) * (inputs + outputs)))
            own["weight"] = tf.random.stateless_uniform(window + [inputs, outputs], [seed, place], -limit, limit)
            if layer["bias"]:
                own["bias"] = tf.zeros(outputs)
        elif layer["kind"] == "batch_norm":
            own["scale"], own["shift"] = tf.ones(inputs), tf.zeros(inputs)
    return arrays


class SGD(tf.Module):
    """One fused operator a variable. Its Nesterov step is the neutral one: gradient + momentum * velocity."""

    def __init__(self, settings, variables):
        super().__init__("sgd")
        if settings["kind"] != "sgd":
            raise RequestError("unsupported", "the TensorFlow builder has no optimiser %r" % settings["kind"])
        self.settings, self.trained = settings, variables
        self.velocities = [tf.Variable(tf.zeros_like(v), trainable=False) for v in variables if settings["momentum"]]

    def apply(self, gradients):
        dtype, decay = gradients[0].dtype, self.settings["weight_decay"]
        rate = tf.constant(self.settings["learning_rate"], dtype)
        if decay:
            gradients = [g + decay * v for g, v in zip(gradients, self.trained)]
        if not self.velocities:
            for v, g in zip(self.trained, gradients):
                tf.raw_ops.ResourceApplyGradientDescent(var=v.handle, alpha=rate, delta=g)
            return
        momentum = {
            "momentum": tf.constant(self.settings["momentum"], dtype),
            "use_nesterov": self.settings["nesterov"],
        }
        for v, velocity, g in zip(self.trained, self.velocities, gradients):
            tf.raw_ops.ResourceApplyMomentum(var=v.handle, accum=velocity.handle, lr=rate, grad=g, **momentum)


def _use(device):
    """Let TensorFlow see this device alone: it then puts everything there, and takes memory of no other GPU."""
    if device == "cpu":
        tf.config.set_visible_devices([], "GPU")
        return
    gpus, number = tf.config.list_physical_devices("GPU"), int(device.partition(":")[2] or 0)
    if number >= len(gpus):
        raise RequestError("unsupported", "TensorFlow sees %d GPUs, so there is no %s" % (len(gpus), device))
    tf.config.set_visible_devices(gpus[number], "GPU")
    # By default TensorFlow takes all of the GPU's memory at once.
    tf.config.experimental.set_memory_growth(gpus[number], True)


class Trainer:
    """The network, its optimiser, the examples and the compiled step."""

    jit_compile = None  # TensorFlow's default: a graph of operators.

    def __init__(self, network, recipe, weights, device, seed):
        _use(device)
        self.dtype = np.dtype(recipe["precision"])
        self.layers = network["layers"]
        native = _own_weights(self.layers, seed) if weights is None else _to_native(self.layers, weights)
        arrays = {name: {role: tf.cast(a, self.dtype) for role, a in own.items()} for name, own in native.items()}
        fused = self.dtype == np.float32 and not self.jit_compile
        kinds = dict(LAYERS, batch_norm=FusedBatchNorm) if fused else LAYERS
        self.model = Network(self.layers, arrays, kinds)
        self.variables = self.model.trainable_variables
        self.optimizer = SGD(recipe["optimizer"], self.variables)
        self.seed = seed
        self._update = tf.function(self._update, jit_compile=self.jit_compile)
        self._measure = tf.function(self._measure, jit_compile=self.jit_compile)

    def parameters(self):
        shapes = {variable.name.split(":")[0]: tuple(variable.shape) for variable in self.variables}
        # Convolutions are (height, width, in, out) here.
        return {name: (s[3], s[2], s[0], s[1]) if len(s) == 4 else s for name, s in shapes.items()}

    def describe(self):
        lines = ["%-10s %s" % (layer["name"], layer["kind"]) for layer in self.layers]
        return "\n".join(lines + ["%s %s" % (variable.name, variable.shape) for variable in self.variables])

    def load(self, inputs, labels, order, rates=None):
        self.images, self.labels = self._examples(inputs, labels)
        self.order = tf.constant(np.array(order, dtype=np.int64))

    def _examples(self, images, labels):
        last = np.ascontiguousarray(np.moveaxis(images, 1, -1), dtype=self.dtype)
        return tf.constant(last), tf.constant(np.array(labels, dtype=np.int64))

    def step(self, number):
        # As a Python integer every number would be traced anew.
        return self._update(self.images, self.labels, self.order, tf.constant(number, tf.int64))

    def _update(self, images, labels, order, number):
        # Not order[number]: XLA needs the bounds of a slice when it compiles, and would compile every step.
        index = tf.gather(order, number)
        x, y = tf.gather(images, index), tf.gather(labels, index)
        with tf.GradientTape() as tape:
            logits = self.model(x, training=True, seed=self.seed, number=number)
            loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=logits))
        self.optimizer.apply(tape.gradient(loss, self.variables))
        return loss

    def evaluate(self, inputs, labels, batch_size):
        images, labels = self._examples(inputs, labels)
        correct, total = 0, 0.0
        for first in range(0, len(labels), batch_size):
            batch = slice(first, first + batch_size)
            right, loss = self._measure(images[batch], labels[batch])
            correct, total = correct + int(right), total + float(loss)
        return correct, total / len(labels)

    def _measure(self, images, labels):
        logits = self.model(images, training=False)
        losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits)
        return tf.math.count_nonzero(tf.argmax(logits, 1) == labels), tf.reduce_sum(losses)
