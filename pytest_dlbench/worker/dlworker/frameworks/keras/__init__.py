"""Keras 3: a Sequential, or a functional model for branches, and train_on_batch. KERAS_BACKEND selects the backend.

Keras decides how a step is compiled (jit_compile="auto"): on TensorFlow as a tf.function, with XLA only if there is a
GPU; on JAX always jitted; on PyTorch not at all (eager).
"""

import keras
import numpy as np
from keras import ops

from dlworker.detection import width_of
from dlworker.frameworks.keras.backend import (
    configure,
    fed,
    kind_of,
    own,
    peak_bytes,
    rows,
    staged,
    threads,
    use,
    versions,
)
from dlworker.frameworks.keras.execution import EXECUTION, round_products, set_execution
from dlworker.frameworks.keras.layers import LAYERS, LAYOUT, canonical_flatten
from dlworker.frameworks.keras.losses import LOSSES
from dlworker.frameworks.keras.optimizers import OPTIMIZERS, optimizer
from dlworker.frameworks.keras.precision import MIXED, set_precision
from dlworker.graph import flattened, is_chain, run, wired

__all__ = ["SUPPORTS", "Trainer", "configure", "set_execution", "threads", "versions"]

SUPPORTS = {*LAYERS, *LOSSES, *OPTIMIZERS, *MIXED, *EXECUTION, "schedule", "clip_norm", "lengths", "start", "pipeline"}


def _taken_activations(layers):
    """The activations that are usually an argument of the layer before, by that layer's name."""
    taken, before = {}, {"kind": None, "name": None}
    for layer, inputs, done in wired(layers):
        follows = inputs == (before["name"],) == done
        takes = before["kind"] in ("conv2d", "grouped_conv2d", "dense")
        if layer["kind"] in ("relu", "tanh", "sigmoid") and takes and follows:
            taken[before["name"]] = layer
        before = layer
    return taken


class Parts:
    """Creates the Keras layers of a network one by one, and keeps those with weights by their neutral name."""

    def __init__(self, layers):
        self.weighted = {}
        self._activations = _taken_activations(layers)
        self._taken = {activation["name"] for activation in self._activations.values()}
        self._canonical = flattened(layers)[1]
        self._starts = {layer["start"] for layer in layers if "start" in layer}

    def of(self, layer):
        """The Keras layers of a neutral layer, in order: none if it is another layer's activation argument."""
        name = layer["name"]
        if name in self._taken:
            return []
        options = {"name": name}
        if name in self._activations:
            activation = self._activations[name]
            options = {"name": "%s_%s" % (name, activation["name"]), "activation": activation["kind"]}
        if name in self._starts:
            options["return_state"] = True
        if "embedding" in layer:
            options["embedding"] = self.weighted[layer["embedding"]]
        made = (canonical_flatten if name in self._canonical else LAYERS[layer["kind"]])(layer, options)
        self.weighted[name] = made[-1]
        return made


def build(network):
    """The neutral network as one Sequential or functional model, and its layers with weights by their neutral name."""
    layers = network["layers"]
    inputs = keras.Input(_native_shape(network["input"]), dtype="int32" if "vocabulary" in network else None)
    is_detector = network["loss"] == "detection"
    truth = keras.Input((width_of(network),), dtype=keras.config.floatx()) if is_detector else None
    parts, end = Parts(layers), []
    if layers[-1]["kind"] != "dense":
        # On TensorFlow, Keras's cross-entropy looks for the logits in the input of a sigmoid, which this one lacks.
        end = [keras.layers.Reshape(tuple(layers[-1]["output"]), name="logits")]
    if keras.config.dtype_policy().compute_dtype != keras.config.floatx():
        # As in Keras's guide to mixed precision: the model ends in float32, and so does the loss.
        end.append(keras.layers.Activation("linear", dtype="float32", name="float32"))
    if is_chain(layers):
        stack = [made for layer in layers for made in parts.of(layer)]
        return keras.Sequential([inputs] + stack + end), parts.weighted
    outputs = _applied(end, _branched(layers, parts, inputs, truth))
    return keras.Model([inputs, truth] if is_detector else inputs, outputs), parts.weighted


def _branched(layers, parts, inputs, truth):
    """The symbolic outputs of the layers; ``truth`` is that of a detector's images, which counts only in training."""
    masks, states = {}, {}

    def call(layer, values):
        name, x = layer["name"], values if len(values) > 1 else values[0]
        if layer["kind"] == "embedding" and layer["padding"] is not None:
            masks[name] = ops.not_equal(x, layer["padding"])
        if layer["kind"] == "attention":
            (attention,) = parts.of(layer)
            return attention(x, allowed=masks.get(layer.get("lengths")))
        if layer["kind"] == "region_proposals":
            return _applied(parts.of(layer), [*values, truth])
        if layer["kind"] not in ("lstm", "gru"):
            return _applied(parts.of(layer), x)
        (rnn,) = parts.of(layer)
        outputs = rnn(x, mask=masks.get(layer.get("lengths")), initial_state=states.get(layer.get("start")))
        if rnn.return_state:
            outputs, *states[name] = outputs
        return outputs

    return run(wired(layers), inputs, call)


def _applied(parts, x):
    for part in parts:
        x = part(x)
    return x


def _native_shape(shape):
    return tuple(shape[1:] + shape[:1]) if len(shape) == 3 and LAYOUT == "channels_last" else tuple(shape)


# Where a Keras layer keeps an array, by kind and canonical role. A GRU keeps both biases in one array.
ARRAYS = {"weight": "kernel", "bias": "bias"}
NORMALISED = {"scale": "gamma", "shift": "beta"}
ARRAYS_OF = {
    "batch_norm": NORMALISED,
    "layer_norm": NORMALISED,
    "embedding": {"weight": "embeddings"},
    "positions": {"weight": "positions"},
    "tied_dense": {},
    "gru": {"weight": "kernel", "recurrent": "recurrent_kernel", "bias": "bias", "recurrent_bias": "bias"},
    "lstm": {"weight": "kernel", "recurrent": "recurrent_kernel", "bias": "bias"},
}


def _to_native(layer, role, weights, image):
    """A canonical array in Keras's layout; ``image`` is the shape of the flattened image it reads, or None."""
    array = weights["%s.%s" % (layer["name"], role)]
    if layer["kind"] == "gru":
        if "bias" in role:
            array = np.stack([weights["%s.%s" % (layer["name"], bias)] for bias in ("bias", "recurrent_bias")])
        reset, update, new = np.split(array, 3, axis=-1)
        return np.concatenate([update, reset, new], axis=-1)
    if array.ndim == 4:
        return array.transpose(2, 3, 1, 0)
    if image is not None and role != "bias":
        return np.moveaxis(array.reshape(*image, -1), 0, 2).reshape(array.shape)
    return array


def _canonical_shape(role, shape):
    if len(shape) == 4:
        return (shape[3], shape[2], shape[0], shape[1])
    return shape[1:] if len(shape) == 2 and "bias" in role else shape


class Trainer:
    """The network, compiled, and the examples, on one device."""

    def __init__(self, network, recipe, weights, device, seed):
        use(device)
        self.device = own(device)
        if device != "cpu":
            round_products(recipe)
        set_precision(recipe["precision"])
        keras.config.set_image_data_format(LAYOUT)
        keras.utils.set_random_seed(seed)
        self.network, self.rate = network, recipe["optimizer"]["learning_rate"]
        with keras.device(self.device):
            self.model, self.weighted = build(network)
            if weights is not None:
                self._set(weights)
            self.model.compile(optimizer(recipe), LOSSES[network["loss"]](network))

    def _natives(self):
        """The layer, the canonical role and the native variable of every array."""
        for layer in self.network["layers"]:
            native = self.weighted.get(layer["name"])
            for role, path in ARRAYS_OF.get(layer["kind"], ARRAYS).items():
                variable = getattr(getattr(native, "cell", native), path, None)
                if variable is not None:
                    yield layer, role, variable

    def _set(self, weights):
        images, _ = flattened(self.network["layers"])
        for layer, role, variable in self._natives():
            # assign() refuses a different shape.
            variable.assign(_to_native(layer, role, weights, images.get(layer["name"])))

    def computes_on(self):
        return kind_of(self.model.weights[0].value)

    def peak_device_bytes(self):
        return peak_bytes(self.model.weights[0].value)

    def parameters(self):
        natives = self._natives()
        return {"%s.%s" % (layer["name"], role): _canonical_shape(role, tuple(v.shape)) for layer, role, v in natives}

    def array(self, name):
        natives = self._natives()
        return ops.convert_to_numpy(next(v for layer, role, v in natives if "%s.%s" % (layer["name"], role) == name))

    def describe(self):
        lines = []
        self.model.summary(print_fn=lines.append, line_length=120)
        return "\n".join(lines)

    def load(self, inputs, labels, order, rates=None):
        self.feed(inputs, labels)
        self.order, self.rates = np.array(order, dtype=np.int32), rates

    def stage(self, inputs, labels):
        """A batch in memory from which a GPU copies without the processor, or as tensors that are on the device."""
        return staged((self._native_inputs(inputs), self._native_labels(labels)), self.device)

    def feed(self, inputs, labels):
        batch = self.stage(inputs, labels) if isinstance(inputs, np.ndarray) else (inputs, labels)
        self.inputs, self.labels = fed(batch, self.device)

    def _native_inputs(self, inputs):
        if "vocabulary" in self.network:
            return np.array(inputs, dtype=np.int32)
        inputs = np.moveaxis(inputs, 1, -1) if inputs.ndim == 4 and LAYOUT == "channels_last" else inputs
        return np.ascontiguousarray(inputs, dtype=keras.config.floatx())

    def _native_labels(self, labels):
        if self.network["loss"] == "detection":
            return np.array(labels, dtype=keras.config.floatx())
        if self.network["loss"] == "sigmoid_cross_entropy":
            return np.array(labels, dtype=keras.config.floatx()).reshape(len(labels), -1)
        return np.array(labels, dtype=np.int32)

    def step(self, number):
        with keras.device(self.device):
            self._set_rate(number)
            return self.model.train_on_batch(*self._batch(number))

    def _batch(self, number):
        inputs, labels = rows(self.inputs, self.labels, self.order[number])
        # What a detector trains its second stage on depends on the labels.
        return ([inputs, labels] if self.network["loss"] == "detection" else inputs), labels

    def _set_rate(self, number):
        if self.rates is not None and self.rates[number] != self.rate:
            self.rate = self.model.optimizer.learning_rate = float(self.rates[number])

    def outputs(self, inputs, batch_size):
        for given in self._parts(inputs, batch_size):
            with keras.device(self.device):
                yield self.model.predict_on_batch(given)

    def _parts(self, inputs, batch_size):
        """What the model is given for each batch of an evaluation."""
        inputs = self._native_inputs(inputs)
        for first in range(0, len(inputs), batch_size):
            given = inputs[first : first + batch_size]
            if self.network["loss"] == "detection":
                given = [given, np.zeros((len(given), width_of(self.network)), dtype=given.dtype)]
            yield given
