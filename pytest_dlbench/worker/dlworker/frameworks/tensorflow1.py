"""TensorFlow 1: one static graph and its session; tf.layers, channels last."""

import numpy as np
import tensorflow as tf
from tensorflow.python.ops import gen_nn_ops

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
CONFIG = tf.ConfigProto(inter_op_parallelism_threads=1, allow_soft_placement=False, device_count={"GPU": 0})


def configure(threads):
    """Threads inside one operator, for every session of this process; operators run one after the other."""
    CONFIG.intra_op_parallelism_threads = threads


def threads():
    """None: a TensorFlow 1 session keeps its pool of threads to itself; only the request could be read back."""


def versions():
    """TensorFlow: the rest comes with it."""
    return {"tensorflow": tf.__version__}


# Every layer is a function (layer, x, training) -> x. A variable is found again by its layer's name, so that the graph
# holds the network twice, for training and for evaluation, without a tf.cond in either.


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


def dense(layer, x, training):
    units = layer["output"][0]
    return tf.layers.dense(x, units, use_bias=layer["bias"], name=layer["name"], reuse=tf.AUTO_REUSE)


def max_pool(layer, x, training):
    x, padding = _padded(layer, x, layer["window"], -np.inf)
    return tf.layers.max_pooling2d(x, layer["window"], layer["stride"], padding, name=layer["name"])


def avg_pool(layer, x, training):
    padded, padding = _padded(layer, x, layer["window"], 0.0)
    mean = tf.layers.average_pooling2d(padded, layer["window"], layer["stride"], padding, name=layer["name"])
    if padded is x:
        return mean
    # TensorFlow leaves its own padding out of the mean ("same"), but counts what tf.pad put there.
    return mean / tf.constant(_shares(layer), x.dtype.base_dtype)


def batch_norm(layer, x, training):
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

    tf.layers.batch_normalization raises an epsilon below 1.001e-5 to that, for cuDNN's sake, and has the unbiased
    variance only where it takes the fused kernel: this is that kernel, with the epsilon as it is, and else the sums.
    """
    if x.shape.ndims == 4 and x.dtype == tf.float32:
        nothing = tf.constant([], tf.float32)
        fused = gen_nn_ops.fused_batch_norm_v2(x, gamma, beta, nothing, nothing, epsilon=epsilon, is_training=True)
        return fused[:3]
    mean, variance = tf.nn.moments(x, list(range(x.shape.ndims - 1)))
    count = tf.cast(tf.size(x) // tf.size(mean), x.dtype)
    y = tf.nn.batch_normalization(x, mean, variance, beta, gamma, epsilon)
    return y, mean, variance * count / (count - 1)


LAYERS = {
    "conv2d": conv2d,
    "dense": dense,
    "max_pool": max_pool,
    "avg_pool": avg_pool,
    "batch_norm": batch_norm,
    "dropout": lambda layer, x, training: tf.layers.dropout(x, layer["rate"], training=training, name=layer["name"]),
    "flatten": lambda layer, x, training: tf.layers.flatten(x, name=layer["name"]),
    "relu": lambda layer, x, training: tf.nn.relu(x, name=layer["name"]),
    "tanh": lambda layer, x, training: tf.tanh(x, name=layer["name"]),
    "sigmoid": lambda layer, x, training: tf.sigmoid(x, name=layer["name"]),
}


def _padded(layer, x, window, value):
    """The input, padded here where TensorFlow's "valid" and "same" are something else, and which of the two."""
    pads = [tuple(sides) for sides in layer["padding"]]
    if pads == [(0, 0), (0, 0)]:
        return x, "valid"
    if pads == [_same(*sizes) for sizes in zip(layer["input"][1:], window, layer["stride"])]:
        return x, "same"
    return tf.pad(x, [(0, 0)] + pads + [(0, 0)], constant_values=value), "valid"


def _same(size, window, stride):
    """What "same" puts before and after, see tf.nn.convolution."""
    total = max(0, (-(-size // stride) - 1) * stride + window - size)
    return total // 2, total - total // 2


def _shares(layer):
    """Which share of each window lies in the image, 1×rows×columns×1."""
    sizes = zip(layer["input"][1:], layer["padding"], layer["window"], layer["stride"])
    return np.outer(*[_share(*size) for size in sizes])[None, :, :, None]


def _share(size, sides, window, stride):
    outputs = (size + sum(sides) - window) // stride + 1
    first = np.arange(outputs) * stride - sides[0]
    return (np.minimum(first + window, size) - np.maximum(first, 0)) / float(window)


def build(network, images, training):
    """The output of every layer, the logits last; each layer's variables are made when it is first built."""
    outputs = [images]
    for layer in network["layers"]:
        if layer["kind"] not in LAYERS:
            raise RequestError("unsupported", "the TensorFlow 1 builder has no layer %r" % layer["kind"])
        x = outputs[-1]
        if layer["kind"] == "flatten" and not _dense_follows(network, layer) and x.shape.ndims == 4:
            # Nothing could undo the other order of the features: the canonical one is made here.
            x = tf.transpose(x, [0, 3, 1, 2])
        outputs.append(LAYERS[layer["kind"]](layer, x, training))
    return outputs[1:]


def _dense_follows(network, layer):
    layers = network["layers"]
    return any(other["kind"] == "dense" for other in layers[layers.index(layer) :])


ROLES = {"weight": "kernel", "bias": "bias", "scale": "gamma", "shift": "beta"}


def _to_native(layer, role, array, image):
    """A canonical array as channels-last TensorFlow has it; ``image`` is the shape that was flattened, or None."""
    if layer["kind"] == "conv2d" and role == "weight":
        return array.transpose(2, 3, 1, 0)
    if image and role in ("weight", "scale", "shift"):
        # Flattened images are row, column, channel here; the canonical order has the channel first.
        return array.reshape(*image + [-1]).transpose(1, 2, 0, 3).reshape(array.shape)
    return array


class Trainer:
    """The graph with the examples and both networks in it, and its session."""

    def __init__(self, network, recipe, weights, device, seed):
        if device != "cpu":
            raise RequestError("unsupported", "TensorFlow 1 is built for CUDA 10, which no current GPU runs: only cpu")
        self.network = network
        self.dtype = tf.as_dtype(recipe["precision"])
        with tf.Graph().as_default() as graph:
            tf.set_random_seed(seed)
            self._examples()
            self._training(recipe["optimizer"])
            self._evaluation()
            self.session = tf.Session(graph=graph, config=CONFIG)
            self.session.run(tf.global_variables_initializer())
            self.variables = {variable.op.name: variable for variable in tf.trainable_variables()}
        if weights is not None:
            for name, layer, role, variable, image in self._natives():
                variable.load(_to_native(layer, role, weights[name], image), self.session)

    def _examples(self):
        """Variables that ``load`` fills: of a step only its number is fed."""
        channels, rows, columns = self.network["input"]
        self.fed = {
            "images": tf.placeholder(self.dtype, [None, rows, columns, channels]),
            "labels": tf.placeholder(tf.int32, [None]),
            "order": tf.placeholder(tf.int32, [None, None]),
        }
        # Outside the graph's collections: global_variables_initializer would want the examples, and there are none yet.
        self.resident = {
            name: tf.Variable(value, trainable=False, collections=[], validate_shape=False, name=name)
            for name, value in self.fed.items()
        }

    def _training(self, settings):
        self.number = tf.placeholder(tf.int32, [])
        index = tf.gather(self.resident["order"], self.number)
        images, labels = (tf.gather(self.resident[name], index) for name in ("images", "labels"))
        images.set_shape(self.fed["images"].shape)
        labels.set_shape(self.fed["labels"].shape)
        self.outputs = build(self.network, images, True)
        self.loss = tf.reduce_mean(_losses(self.outputs[-1], labels))
        optimizer = _optimizer(settings, self.dtype)
        gradients = optimizer.compute_gradients(self.loss)
        if settings["weight_decay"]:
            gradients = [(gradient + settings["weight_decay"] * p, p) for gradient, p in gradients]
        with tf.control_dependencies(tf.get_collection(tf.GraphKeys.UPDATE_OPS)):
            self.update = optimizer.apply_gradients(gradients)

    def _evaluation(self):
        logits = build(self.network, self.fed["images"], False)[-1]
        labels = self.fed["labels"]
        right = tf.equal(tf.argmax(logits, 1, output_type=tf.int32), labels)
        self.correct = tf.reduce_sum(tf.cast(right, tf.int32))
        self.total = tf.reduce_sum(_losses(logits, labels))

    def _natives(self):
        """Canonical name, layer, role and variable, and which image the layer's inputs were, if they were flattened."""
        image = None
        for layer in self.network["layers"]:
            if layer["kind"] == "flatten" and len(layer["input"]) == 3 and _dense_follows(self.network, layer):
                image = layer["input"]
            for role in ("weight", "bias", "scale", "shift"):
                variable = self.variables.get("%s/%s" % (layer["name"], ROLES[role]))
                if variable is not None:
                    yield "%s.%s" % (layer["name"], role), layer, role, variable, image
            if layer["kind"] == "dense":
                image = None

    def parameters(self):
        shapes = {}
        for name, _, _, variable, _ in self._natives():
            shape = variable.shape.as_list()
            shapes[name] = tuple([shape[i] for i in (3, 2, 0, 1)] if len(shape) == 4 else shape)
        return shapes

    def describe(self):
        lines = ["%-10s %r" % pair for pair in zip((layer["name"] for layer in self.network["layers"]), self.outputs)]
        return "\n".join(lines + ["%r" % variable for variable in self.variables.values()])

    def load(self, inputs, labels, order, rates=None):
        arrays = {"images": _channels_last(inputs, self.dtype), "labels": labels, "order": order}
        for name, variable in self.resident.items():
            self.session.run(variable.initializer, {self.fed[name]: arrays[name]})

    def step(self, number):
        loss, _ = self.session.run([self.loss, self.update], {self.number: number})
        return loss

    def evaluate(self, inputs, labels, batch_size):
        images = _channels_last(inputs, self.dtype)
        correct, total = 0, 0.0
        for first in range(0, len(labels), batch_size):
            batch = slice(first, first + batch_size)
            fed = {self.fed["images"]: images[batch], self.fed["labels"]: labels[batch]}
            right, loss = self.session.run([self.correct, self.total], fed)
            correct, total = correct + int(right), total + float(loss)
        return correct, total / len(labels)


def _channels_last(images, dtype):
    return np.ascontiguousarray(np.moveaxis(images, 1, -1), dtype=dtype.as_numpy_dtype)


def _losses(logits, labels):
    return tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits)


def _optimizer(settings, dtype):
    if settings["kind"] != "sgd":
        raise RequestError("unsupported", "the TensorFlow 1 builder has no optimiser %r" % settings["kind"])
    # A Python number becomes a float32 tensor there, whatever the variables are.
    rate, momentum = (tf.constant(settings[name], dtype) for name in ("learning_rate", "momentum"))
    if settings["momentum"]:
        return tf.train.MomentumOptimizer(rate, momentum, use_nesterov=settings["nesterov"])
    return tf.train.GradientDescentOptimizer(rate)
