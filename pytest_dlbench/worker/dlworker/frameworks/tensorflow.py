"""TensorFlow 2: tf.Modules of tf.nn operations, trained by one tf.function. Images are channels last. No Keras."""

from functools import partial

import numpy as np
import tensorflow as tf

from dlworker.protocol import RequestError


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
        self.stride, self.padding = layer["stride"], _padding(layer, layer["kernel"])

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
        # The fused operator is three times as fast, and computes in float32 alone.
        x, mean, variance = self._fused(x) if x.dtype == tf.float32 else self._composed(x)
        self.mean.assign(self.decay * self.mean + (1 - self.decay) * mean)
        self.variance.assign(self.decay * self.variance + (1 - self.decay) * variance)
        return x

    def _fused(self, x):
        """x normalised, the batch's mean and its unbiased variance, which is what the operator gives."""
        # Not tf.compat.v1.nn.fused_batch_norm: it would raise an epsilon of 1e-5 to 1.001e-5.
        normalised, mean, variance = tf.raw_ops.FusedBatchNormV3(
            x=x if len(x.shape) == 4 else x[:, tf.newaxis, tf.newaxis, :],
            scale=self.scale,
            offset=self.shift,
            mean=[],
            variance=[],
            epsilon=self.epsilon,
            is_training=True,
        )[:3]
        return tf.reshape(normalised, x.shape), mean, variance

    def _composed(self, x):
        """The same of tf.nn's two operations."""
        mean, variance = tf.nn.moments(x, list(range(len(x.shape) - 1)))
        count = x.shape.num_elements() // x.shape[-1]
        x = tf.nn.batch_normalization(x, mean, variance, self.shift, self.scale, self.epsilon)
        return x, mean, variance * (count / (count - 1))


def max_pool(layer, arrays):
    window, stride, padding = layer["window"], layer["stride"], _padding(layer, layer["window"])
    if isinstance(padding, str):
        return lambda x, training, seed: tf.nn.max_pool2d(x, window, stride, padding)
    # tf.nn.max_pool2d takes rows and columns, too, but XLA does not compile that.
    lowest = -float("inf")
    return lambda x, training, seed: tf.nn.max_pool2d(
        tf.pad(x, padding, constant_values=lowest), window, stride, "VALID"
    )


def avg_pool(layer, arrays):
    window, stride, padding = layer["window"], layer["stride"], _padding(layer, layer["window"])
    if isinstance(padding, str):
        return lambda x, training, seed: tf.nn.avg_pool2d(x, window, stride, padding)

    # Zeros that are padded here would be counted as values.
    def mean(x):
        return tf.nn.avg_pool2d(tf.pad(x, padding), window, stride, "VALID")

    return lambda x, training, seed: mean(x) / mean(tf.ones_like(x[:1, :, :, :1]))


def dropout(layer, arrays):
    # Philox is what CPUs and GPUs have anyway. XLA's own choice takes twenty times as long on a CPU.
    drop = partial(tf.nn.experimental.stateless_dropout, rate=layer["rate"], rng_alg="philox")
    return lambda x, training, seed: drop(x, seed=seed) if training else x


def _always(operation):
    return lambda layer, arrays: lambda x, training, seed: operation(x)


LAYERS = {
    "conv2d": Conv2D,
    "dense": Dense,
    "max_pool": max_pool,
    "avg_pool": avg_pool,
    "batch_norm": BatchNorm,
    "dropout": dropout,
    "flatten": _always(lambda x: tf.reshape(x, [x.shape[0], -1])),
    "relu": _always(tf.nn.relu),
    "tanh": _always(tf.tanh),
    "sigmoid": _always(tf.sigmoid),
}


def _variable(layer, arrays, role):
    """A trainable array under its canonical name, or None where the layer has none."""
    return tf.Variable(arrays[role], name="%s.%s" % (layer["name"], role)) if role in arrays else None


def _padding(layer, window):
    """TensorFlow's word for the padding where it has one, else rows and columns for all four axes."""
    pads = [list(sides) for sides in layer["padding"]]
    if pads == [[0, 0], [0, 0]]:
        return "VALID"
    same = []
    for size, kernel, stride in zip(layer["input"][1:], window, layer["stride"]):
        total = max(0, (-(-size // stride) - 1) * stride + kernel - size)
        same.append([total // 2, total - total // 2])
    return "SAME" if pads == same else [[0, 0]] + pads + [[0, 0]]


class Network(tf.Module):
    """The layers in their order."""

    def __init__(self, layers, arrays):
        super().__init__("network")
        for layer in layers:
            if layer["kind"] not in LAYERS:
                raise RequestError("unsupported", "the TensorFlow builder has no layer %r" % layer["kind"])
        self.layers = [LAYERS[layer["kind"]](layer, arrays.get(layer["name"], {})) for layer in layers]

    def __call__(self, x, training, seed=None):
        """Logits. The seed is two integers; a layer takes the second one times their number, plus its own place."""
        for place, layer in enumerate(self.layers):
            own = tf.stack([seed[0], seed[1] * len(self.layers) + place]) if training else None
            x = layer(x, training, own)
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
        if self.settings["weight_decay"]:
            gradients = [g + self.settings["weight_decay"] * v for g, v in zip(gradients, self.trained)]
        rate, momentum = (
            tf.constant(self.settings[name], gradients[0].dtype) for name in ("learning_rate", "momentum")
        )
        if not self.velocities:
            for variable, gradient in zip(self.trained, gradients):
                tf.raw_ops.ResourceApplyGradientDescent(var=variable.handle, alpha=rate, delta=gradient)
        for variable, velocity, gradient in zip(self.trained, self.velocities, gradients):
            tf.raw_ops.ResourceApplyMomentum(
                var=variable.handle,
                accum=velocity.handle,
                lr=rate,
                grad=gradient,
                momentum=momentum,
                use_nesterov=self.settings["nesterov"],
            )


def _use(device):
    """Let TensorFlow see this device alone: it then puts everything there, and takes memory of no other GPU."""
    chosen = []
    if device != "cpu":
        gpus, number = tf.config.list_physical_devices("GPU"), int(device.partition(":")[2] or 0)
        if number >= len(gpus):
            raise RequestError("unsupported", "TensorFlow sees %d GPUs, so there is no %s" % (len(gpus), device))
        chosen = [gpus[number]]
        # By default TensorFlow takes all of the GPU's memory at once.
        tf.config.experimental.set_memory_growth(chosen[0], True)
    tf.config.set_visible_devices(chosen, "GPU")


class Trainer:
    """The network, its optimiser, the examples and the compiled step."""

    jit_compile = None  # TensorFlow's default: a graph of operators.

    def __init__(self, network, recipe, weights, device, seed):
        _use(device)
        self.dtype = np.dtype(recipe["precision"])
        self.layers = network["layers"]
        native = _own_weights(self.layers, seed) if weights is None else _to_native(self.layers, weights)
        arrays = {
            layer: {role: tf.cast(array, self.dtype) for role, array in own.items()} for layer, own in native.items()
        }
        self.model = Network(self.layers, arrays)
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

    def load(self, images, labels, order):
        self.images, self.labels = self._examples(images, labels)
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
            logits = self.model(x, training=True, seed=(self.seed, number))
            loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=logits))
        self.optimizer.apply(tape.gradient(loss, self.variables))
        return loss

    def evaluate(self, images, labels, batch_size):
        images, labels = self._examples(images, labels)
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
