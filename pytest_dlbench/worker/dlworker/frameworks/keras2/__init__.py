"""Keras 2 on TensorFlow 1, Theano or CNTK, as named by KERAS_BACKEND: a model that is fed batch by batch.

It is a Sequential, or a functional Model if layers branch or share their states.
"""

import numpy as np

from dlworker.frameworks.keras2.layers import BACKEND, CHANNELS, LAYERS, K, L, native
from dlworker.frameworks.keras2.losses import LOSSES
from dlworker.frameworks.keras2.optimizers import OPTIMIZERS, keras, optimizer
from dlworker.graph import flattened, is_chain, run, wired
from dlworker.operations import needs
from dlworker.protocol import RequestError

SUPPORTS = {*LAYERS, *LOSSES, *OPTIMIZERS, "schedule", "clip_norm", "lengths", "start", "pipeline"}
# What Keras supports in principle, but computes incorrectly on a backend, and why.
LACKS = {
    "cntk": {
        "lstm": "Keras takes the last state for the output, which is the cell",
        "start": "a GRU that starts in another's last state gives wrong results",
    }
}

configure, threads = native.configure, native.threads
BEFORE_2_3 = keras.__version__.startswith(("2.0", "2.1", "2.2"))


def versions():
    """Keras and its backend."""
    return dict(native.versions(), keras=keras.__version__)


def build(network, batch_size):
    """The neutral network as one Sequential, or as a functional Model."""
    layers, shape = _with_what_is_asked_of_them(network["layers"]), network["input"]
    shape = tuple(shape[1:] + shape[:1] if CHANNELS == -1 and len(shape) == 3 else shape)
    dtype = "int32" if "vocabulary" in network else K.floatx()
    if not is_chain(layers):
        inputs = L.Input(shape, dtype=dtype)
        return keras.models.Model(inputs, _branched(layers, batch_size, inputs))
    model = keras.models.Sequential()
    model.add(L.InputLayer(shape, dtype=dtype))
    for layer in layers:
        for built in LAYERS[layer["kind"]](layer, batch_size):
            model.add(built)
    return model


def _with_what_is_asked_of_them(layers):
    """The layers; recurrent ones know whether another starts in their last state, and flattens know their order."""
    canonical, starts = flattened(layers)[1], {layer.get("start") for layer in layers}
    return [dict(layer, ends=layer["name"] in starts, canonical=layer["name"] in canonical) for layer in layers]


def _branched(layers, batch_size, inputs):
    """The symbolic outputs of the layers."""
    masks, states = {}, {}

    def call(layer, values):
        name, x, settings = layer["name"], values if len(values) > 1 else values[0], {}
        if layer["kind"] == "embedding" and layer["padding"] is not None:
            masks[name] = K.not_equal(x, layer["padding"])
        if "lengths" in layer:
            # Passed to this layer only: the mask of an Embedding would propagate to the loss.
            settings["mask"] = masks[layer["lengths"]]
        if "start" in layer:
            settings["initial_state"] = states[layer["start"]]
        built = LAYERS[layer["kind"]](layer, batch_size)
        for before in built[:-1]:
            x = before(x)
        x = built[-1](x, **settings)
        if layer["ends"] and layer["kind"] in ("lstm", "gru"):
            states[name] = x[1:]
            x = x[0]
        return x

    return run(wired(layers), inputs, call)


# Where a Keras layer keeps an array, by kind and canonical role. A GRU keeps both biases in one array.
ARRAYS = {"weight": "kernel", "bias": "bias"}
ARRAYS_OF = {
    "batch_norm": {"scale": "gamma", "shift": "beta"},
    "embedding": {"weight": "embeddings"},
    "gru": {"weight": "kernel", "recurrent": "recurrent_kernel", "bias": "bias", "recurrent_bias": "bias"},
    "lstm": {"weight": "kernel", "recurrent": "recurrent_kernel", "bias": "bias"},
}


def _to_native(layer, role, weights, image):
    """A canonical array in Keras's layout; ``image`` is the shape that was flattened channels last, or None."""
    array = weights["%s.%s" % (layer["name"], role)]
    if layer["kind"] == "gru":
        if "bias" in role:
            array = np.stack([weights["%s.%s" % (layer["name"], bias)] for bias in ("bias", "recurrent_bias")])
        reset, update, new = np.split(array, 3, axis=-1)
        return np.concatenate([update, reset, new], axis=-1)
    if array.ndim == 4:
        array = array.transpose(2, 3, 1, 0)
        # On Theano a convolution is a true convolution: the kernel is flipped.
        return array[::-1, ::-1] if BACKEND == "theano" else array
    if image and role != "bias":
        return array.reshape(*image + [-1]).transpose(1, 2, 0, 3).reshape(array.shape)
    return array


def _canonical_shape(role, shape):
    if len(shape) == 4:
        return tuple(shape[i] for i in (3, 2, 0, 1))
    return shape[1:] if len(shape) == 2 and "bias" in role else shape


class Trainer:
    """The compiled model, and the examples as NumPy arrays: Keras hands each batch to the backend."""

    def __init__(self, network, recipe, weights, device, seed):
        _require(device, recipe["precision"])
        _require_backend_for(needs(network, recipe))
        self.network, self.dtype = network, recipe["precision"]
        self.rate = recipe["optimizer"]["learning_rate"]
        _begin(self.dtype, seed)
        self.model = build(network, recipe["batch_size"])
        if weights is not None:
            images = flattened(network["layers"])[0] if CHANNELS == -1 else {}
            for layer, role, variable in self._natives():
                array = _to_native(layer, role, weights, images.get(layer["name"]))
                K.set_value(variable, np.ascontiguousarray(array))
        self.model.compile(optimizer(recipe), LOSSES[network["loss"]](network))

    def _natives(self):
        """The layer, the canonical role and the variable of every array."""
        for layer in self.network["layers"]:
            own = self.model.get_layer(layer["name"])
            for role, path in ARRAYS_OF.get(layer["kind"], ARRAYS).items():
                variable = getattr(getattr(own, "cell", own), path, None)
                if variable is not None:
                    yield layer, role, variable

    def parameters(self):
        natives = self._natives()
        return {"%s.%s" % (layer["name"], role): _canonical_shape(role, K.int_shape(v)) for layer, role, v in natives}

    def array(self, name):
        natives = self._natives()
        return K.get_value(next(v for layer, role, v in natives if "%s.%s" % (layer["name"], role) == name))

    def describe(self):
        lines = []
        self.model.summary(line_length=100, print_fn=lines.append)
        return "\n".join(lines)

    def load(self, inputs, labels, order, rates=None):
        self.feed(inputs, labels)
        self.order, self.rates = np.array(order), rates

    def feed(self, inputs, labels):
        self.inputs, self.labels = self._inputs(inputs), self._labels(labels)

    def _inputs(self, inputs):
        if "vocabulary" in self.network:
            return np.array(inputs, dtype="int32")
        return np.ascontiguousarray(np.moveaxis(inputs, 1, CHANNELS), dtype=self.dtype)

    def _labels(self, labels):
        """Labels in the form that the losses expect."""
        if self.network["loss"] == "softmax_cross_entropy":
            return keras.utils.to_categorical(labels, self.network["classes"]).astype(self.dtype)
        labels = np.array(labels, dtype=self.dtype)
        if self.network["loss"] == "sequence_cross_entropy":
            return labels[..., np.newaxis]
        return labels.reshape(len(labels), -1)

    def step(self, number):
        if self.rates is not None and self.rates[number] != self.rate:
            self.rate = float(self.rates[number])
            K.set_value(self.model.optimizer.lr, self.rate)
        index = self.order[number]
        return self.model.train_on_batch(self.inputs[index], self.labels[index])

    def outputs(self, inputs, batch_size):
        inputs = self._inputs(inputs)
        for first in range(0, len(inputs), batch_size):
            yield self.model.predict_on_batch(inputs[first : first + batch_size])


def _require(device, precision):
    """Raise RequestError for devices and precisions that do not work, or not exactly."""
    reasons = {
        "Keras 2 is supported only with its backends' CPU builds: use cpu": device != "cpu",
        "Keras on CNTK computes gradients only in float32": BACKEND == "cntk" and precision != "float32",
        # A race with the backward pass: occasionally a loss is far off.
        "on TensorFlow, Keras before 2.3 updates variables while they are still being read": BACKEND == "tensorflow"
        and BEFORE_2_3,
        "Theano found no C++ compiler (g++)": BACKEND == "theano" and not native.theano.config.cxx,
    }
    for reason, applies in reasons.items():
        if applies:
            raise RequestError("unsupported", reason)


def _require_backend_for(needed):
    """Raise RequestError for what Keras supports, but computes incorrectly on this backend."""
    missing = ["no %s: %s" % pair for pair in sorted(LACKS.get(BACKEND, {}).items()) if pair[0] in needed]
    if missing:
        raise RequestError("unsupported", "Keras on %s has %s" % (BACKEND, "; ".join(missing)))


def _begin(precision, seed):
    """Set the precision, and seed all random numbers: Keras draws its own seeds from NumPy."""
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
