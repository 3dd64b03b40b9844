"""TensorFlow 2: tf.Modules of tf.nn operations, trained by one tf.function. Images are channels last. No Keras."""

from functools import partial

import numpy as np
import tensorflow as tf

from dlworker.frameworks.tensorflow.detection import DETECTION
from dlworker.frameworks.tensorflow.execution import EXECUTION, set_execution
from dlworker.frameworks.tensorflow.layers import FUSED, LAYERS, MERGES, RECURRENT, flatten_in_order
from dlworker.frameworks.tensorflow.losses import LOSSES
from dlworker.frameworks.tensorflow.optimizers import OPTIMIZERS, LossScaled
from dlworker.frameworks.tensorflow.precision import MIXED, widened
from dlworker.frameworks.tensorflow.weights import keeps_channels_last, own_weights, to_native
from dlworker.graph import run, wired
from dlworker.protocol import RequestError

__all__ = ["SUPPORTS", "Trainer", "configure", "set_execution", "threads", "versions"]

SUPPORTS = {
    *LAYERS,
    *LOSSES,
    *OPTIMIZERS,
    *MIXED,
    *EXECUTION,
    "schedule",
    "clip_norm",
    "accumulation",
    "lengths",
    "start",
    "pipeline",
}


def configure(threads):
    """Set the threads per operator and the operators run at once. TensorFlow refuses both after its first operator."""
    tf.config.threading.set_intra_op_parallelism_threads(threads)
    tf.config.threading.set_inter_op_parallelism_threads(threads)


def threads():
    """Threads inside one operator, as TensorFlow reports them."""
    return tf.config.threading.get_intra_op_parallelism_threads()


def versions():
    """TensorFlow and, if it was built with them, CUDA and cuDNN."""
    build = tf.sysconfig.get_build_info()
    found = {"tensorflow": tf.__version__, "cuda": build.get("cuda_version"), "cudnn": build.get("cudnn_version")}
    return {name: str(version) for name, version in found.items() if version}


class Network(tf.Module):
    """The layers in order, each called with its inputs, which have the type ``dtype``.

    A layer casts its variables to the type of its inputs, so that gradients have the variables' type again and a
    variable's gradients from several places are summed in it.
    """

    def __init__(self, layers, arrays, kinds, dtype):
        super().__init__("network")
        self.dtype = tf.as_dtype(dtype)
        self.layers = [kinds[layer["kind"]](layer, arrays[layer["name"]]) for layer in layers]
        self.places = {layer["name"]: place for place, layer in enumerate(layers)}
        self.run = partial(run, wired(layers))

    def __call__(self, x, training, seed=0, number=0, truth=None):
        """Logits, never in 16 bits. Each layer has its own seed in every step.

        ``truth`` is that of a detector's images in training.
        """
        lengths, states = {}, {}
        x = tf.cast(x, self.dtype) if x.dtype.is_floating else x

        def call(layer, values):
            name, kind, x = layer["name"], layer["kind"], values[0]
            place = self.places[name]
            own = self.layers[place]
            if kind in MERGES:
                return own(values)
            if kind in DETECTION:
                return own(values, truth)
            if kind in RECURRENT:
                x, states[name] = own(x, lengths.get(layer.get("lengths")), states.get(layer.get("start")))
                return x
            if kind == "attention":
                return own(x, lengths.get(layer.get("lengths")))
            if kind == "tied_dense":
                return own(x, self.layers[self.places[layer["embedding"]]].weight)
            if kind == "embedding" and layer["padding"] is not None:
                lengths[name] = tf.math.count_nonzero(x != layer["padding"], axis=1, dtype=tf.int32)
            x = own(x, training, [seed, number * len(self.layers) + place])
            # Cast after the lookup: the gradients of a row are summed in the type of the weights.
            return tf.cast(x, self.dtype) if kind == "embedding" else x

        return widened(self.run(x, call))


def use(device):
    """Make only this device visible: TensorFlow then puts everything there, and allocates no memory on other GPUs."""
    if device == "cpu":
        tf.config.set_visible_devices([], "GPU")
        return
    gpus, number = tf.config.list_physical_devices("GPU"), int(device.partition(":")[2] or 0)
    if number >= len(gpus):
        raise RequestError("unsupported", "TensorFlow found %d GPUs, so there is no %s" % (len(gpus), device))
    tf.config.set_visible_devices(gpus[number], "GPU")
    # By default TensorFlow allocates all of the GPU's memory at once.
    tf.config.experimental.set_memory_growth(gpus[number], True)


def kind_of(variable):
    """("gpu" or "cpu", its name) of the device that holds a variable."""
    if ":GPU:" not in variable.device.upper():
        return "cpu", ""
    details = tf.config.experimental.get_device_details(tf.config.get_visible_devices("GPU")[0])
    return "gpu", details.get("device_name", "")


def peak_bytes(variable):
    """The peak of TensorFlow's allocator on the GPU that holds a variable; None on a processor, where it has none."""
    is_on_gpu = ":GPU:" in variable.device.upper()
    return tf.config.experimental.get_memory_info(variable.device)["peak"] if is_on_gpu else None


def _operator(layer):
    if layer["kind"] != "attention":
        return layer["kind"]
    return "attention, heads=%d, causal=%s, two products, not fused" % (layer["heads"], layer["causal"])


def _mean(found):
    """The mean loss and the mean gradients of the parts of a batch."""
    losses, gradients = zip(*found)
    return tf.add_n(losses) / len(found), [tf.add_n(of_one) / len(found) for of_one in zip(*gradients)]


class Trainer:
    """The network, its optimiser, the examples and the compiled step."""

    jit_compile = None  # TensorFlow's default: a graph of operators.

    def __init__(self, network, recipe, weights, device, seed):
        use(device)
        precision = recipe["precision"]
        # NumPy has no bfloat16, and no persistent array has 16 bits.
        self.dtype = np.dtype("float32" if precision in MIXED else precision)
        self.network, self.layers = network, network["layers"]
        native = own_weights(self.layers, seed) if weights is None else to_native(self.layers, weights)
        arrays = {name: {role: tf.cast(a, self.dtype) for role, a in own.items()} for name, own in native.items()}
        self.model = Network(self.layers, arrays, self._kinds(precision), precision)
        self.variables = self.model.trainable_variables
        optimizer = OPTIMIZERS[recipe["optimizer"]["kind"]](recipe["optimizer"], self.variables)
        self.optimizer = LossScaled(optimizer) if precision == "float16" else optimizer
        self.rate, self.clip_norm = recipe["optimizer"]["learning_rate"], recipe.get("clip_norm")
        self.seed, self.accumulation = seed, recipe.get("accumulation", 1)
        # Python decides everything once, while tracing: there is nothing for AutoGraph to convert.
        self._update = tf.function(self._update, autograph=False, jit_compile=self.jit_compile)
        self._apply = tf.function(self._apply, autograph=False, jit_compile=self.jit_compile)

    def _kinds(self, precision):
        kinds = dict(LAYERS)
        if not self.jit_compile:
            kinds.update(FUSED.get(precision, {}))
        if not keeps_channels_last(self.layers):
            kinds["flatten"] = flatten_in_order
        return kinds

    def computes_on(self):
        return kind_of(self.variables[0])

    def peak_device_bytes(self):
        return peak_bytes(self.variables[0])

    def parameters(self):
        shapes = {variable.name.split(":")[0]: tuple(variable.shape) for variable in self.variables}
        # Convolutions are (height, width, in, out) here.
        return {name: (s[3], s[2], s[0], s[1]) if len(s) == 4 else s for name, s in shapes.items()}

    def array(self, name):
        return next(variable for variable in self.variables if variable.name.split(":")[0] == name).numpy()

    def describe(self):
        lines = ["%-10s %s" % (layer["name"], _operator(layer)) for layer in self.layers]
        return "\n".join(lines + ["%s %s" % (variable.name, variable.shape) for variable in self.variables])

    def load(self, inputs, labels, order, rates=None):
        self.feed(inputs, labels)
        rates = np.full(len(order), self.rate) if rates is None else rates
        self.course = tf.constant(np.array(order, dtype=np.int64)), tf.constant(np.array(rates, dtype=self.dtype))

    def stage(self, inputs, labels):
        """A batch on the device: it arrives there while the steps before it run."""
        dtype = self.dtype if self.network["loss"] == "detection" else np.int64
        return self._inputs(inputs), tf.constant(np.array(labels, dtype=dtype))

    def feed(self, inputs, labels):
        self.inputs, self.labels = (inputs, labels) if tf.is_tensor(inputs) else self.stage(inputs, labels)

    def _inputs(self, inputs):
        # TensorFlow would keep int32 in CPU memory.
        dtype = np.int64 if "vocabulary" in self.network else self.dtype
        inputs = np.moveaxis(inputs, 1, -1) if inputs.ndim == 4 else inputs
        return tf.constant(np.ascontiguousarray(inputs, dtype=dtype))

    def step(self, number):
        # As a Python integer, each number would be traced again.
        return self._update(self.inputs, self.labels, self.course, tf.constant(number, tf.int64))

    def _update(self, inputs, labels, course, number):
        # Not order[number]: XLA needs the bounds of a slice at compile time, and would compile every step.
        index, rate = (tf.gather(part, number) for part in course)
        index = self._own(index)
        parts = tf.split(index, self.accumulation) if self.accumulation > 1 else [index]
        found = [
            self.gradients(tf.gather(inputs, part), tf.gather(labels, part), number * len(parts) + place)
            for place, part in enumerate(parts)
        ]
        loss, gradients = found[0] if len(parts) == 1 else _mean(found)
        self.change(self._exchanged(gradients), rate)
        return loss

    def _own(self, index):
        """The rows of a batch that are computed here: all of them, unless several devices have a part each."""
        return index

    def gradients(self, x, y, number):
        """The loss of a batch, and the gradients of it."""
        with tf.GradientTape() as tape:
            truth = y if self.network["loss"] == "detection" else None
            logits = self.model(x, training=True, seed=self.seed, number=number, truth=truth)
            losses, count = LOSSES[self.network["loss"]](self.network, logits, y)
            loss = self._weighed(tf.reduce_sum(losses) / tf.cast(count, losses.dtype), number)
            scaled = self.optimizer.scale(loss)
        # TensorFlow's gradient of an embedding has one row per row read, with duplicates: neither the norm of the
        # gradient nor an update of all rows can be computed from it.
        gradients = [tf.convert_to_tensor(gradient) for gradient in tape.gradient(scaled, self.variables)]
        return loss, self.optimizer.unscale(gradients)

    def _weighed(self, loss, number):
        """The loss that several workers have of their parts of a batch; one worker has the whole batch."""
        return loss

    def change(self, gradients, rate):
        """Update the variables by these gradients."""
        if self.clip_norm:
            gradients, _ = tf.clip_by_global_norm(gradients, self.clip_norm)
        self.optimizer.apply(gradients, rate)

    def _exchanged(self, gradients):
        """The gradients that several workers exchange; one worker has nobody to exchange them with."""
        return gradients

    def outputs(self, inputs, batch_size):
        inputs = self._inputs(inputs)
        for first in range(0, len(inputs), batch_size):
            yield self._apply(inputs[first : first + batch_size]).numpy()

    def _apply(self, inputs):
        return self.model(inputs, training=False)
