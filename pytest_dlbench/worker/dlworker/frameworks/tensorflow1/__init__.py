"""TensorFlow 1: one static graph and its session; tf.layers, channels last."""

from collections import OrderedDict

import numpy as np
import tensorflow as tf

from dlworker.frameworks.tensorflow1.layers import KINDS, LAYERS, MERGES, RECURRENT
from dlworker.frameworks.tensorflow1.losses import LOSSES
from dlworker.frameworks.tensorflow1.optimizers import OPTIMIZERS, optimizer_of
from dlworker.graph import is_chain, run, wired
from dlworker.protocol import RequestError

SUPPORTS = {*KINDS, *LOSSES, *OPTIMIZERS, "schedule", "clip_norm", "lengths", "start", "pipeline"}
CONFIG = tf.ConfigProto(inter_op_parallelism_threads=1, allow_soft_placement=False, device_count={"GPU": 0})


def configure(threads):
    """Set the threads inside one operator for all sessions of this process; operators run one after the other."""
    CONFIG.intra_op_parallelism_threads = threads


def threads():
    """None: a TensorFlow 1 session does not expose its thread pool; only the request could be read back."""


def versions():
    """TensorFlow only: its libraries are bundled."""
    return {"tensorflow": tf.__version__}


def require(device):
    """Raise RequestError for another device than the processor."""
    if device != "cpu":
        message = "TensorFlow 1 needs CUDA 10 of the system, and a GPU up to Turing: this builder is for the CPU"
        raise RequestError("unsupported", message)


def build(network, inputs, training):
    """The output of each layer by name, the logits last; a layer's variables are created when it is first built."""
    outputs, lengths, states = OrderedDict(), {}, {}

    def call(layer, values):
        name, kind, x = layer["name"], layer["kind"], values[0]
        if kind in MERGES:
            x = MERGES[kind](layer, values)
        elif kind in RECURRENT:
            place = lengths.get(layer.get("lengths")), states.get(layer.get("start"))
            x, states[name] = RECURRENT[kind](layer, x, *place)
        else:
            if kind == "embedding" and layer["padding"] is not None:
                lengths[name] = tf.count_nonzero(tf.not_equal(x, layer["padding"]), 1, dtype=tf.int32)
            if kind == "flatten" and x.shape.ndims == 4 and not _keeps_channels_last(network):
                # No later weights could be reordered: flatten in the canonical order here.
                x = tf.transpose(x, [0, 3, 1, 2])
            x = LAYERS[kind](layer, x, training)
        outputs[name] = x
        return x

    return run(wired(network["layers"]), inputs, call), outputs


def _keeps_channels_last(network):
    """Whether images may be flattened in memory order, because the next dense layer's weights can be reordered."""
    return is_chain(network["layers"]) and any(layer["kind"] == "dense" for layer in network["layers"])


def _label_shape(network):
    """The shape of one example's label."""
    output = network["layers"][-1]["output"]
    if network["loss"] == "sequence_cross_entropy":
        return output[:1]
    return output if network["loss"] == "sigmoid_cross_entropy" and output != [1] else []


# Canonical roles and the names of their variables in a layer's scope. An LSTM keeps weight and recurrent in one.
KERNEL = {"weight": "kernel", "bias": "bias"}
ROLES = {
    "conv2d": KERNEL,
    "grouped_conv2d": KERNEL,
    "dense": KERNEL,
    "batch_norm": {"scale": "gamma", "shift": "beta"},
    "embedding": {"weight": "embeddings"},
    "lstm": {"weight": "rnn/lstm_cell/kernel", "bias": "rnn/lstm_cell/bias"},
    "gru": {role: "rnn/gru_cell/%s" % role for role in ("weight", "recurrent", "bias", "recurrent_bias")},
}


def _to_native(layer, own, image):
    """Canonical arrays of a layer in channels-last TensorFlow's layout; ``image`` is the shape that was flattened."""
    kind = layer["kind"]
    if kind == "lstm":
        joined = {"weight": np.concatenate([own["weight"], own["recurrent"]]), "bias": own["bias"]}
        return {role: _input_cell_forget_output(array) for role, array in joined.items()}
    if kind in ("conv2d", "grouped_conv2d"):
        return dict(own, weight=own["weight"].transpose(2, 3, 1, 0))
    if image:
        # Flattened images are in row, column, channel order here; the canonical order has the channel first.
        return {role: _channels_last(array, image) if role != "bias" else array for role, array in own.items()}
    return own


def _channels_last(array, image):
    return array.reshape(image + [-1]).transpose(1, 2, 0, 3).reshape(array.shape)


def _input_cell_forget_output(array):
    """TensorFlow's order of gates; the canonical one has the forget gate before the cell."""
    i, f, g, o = np.split(array, 4, axis=-1)
    return np.concatenate([i, g, f, o], axis=-1)


def _canonical_shapes(layer, role, shape):
    """The canonical shapes of what a variable holds."""
    if layer["kind"] == "lstm" and role == "weight":
        inputs, units = shape[0] - layer["units"], layer["units"]
        return {"weight": (inputs, shape[1]), "recurrent": (units, shape[1])}
    return {role: tuple(shape[i] for i in (3, 2, 0, 1)) if len(shape) == 4 else tuple(shape)}


class Trainer:
    """The graph with the examples and both networks in it, and its session."""

    def __init__(self, network, recipe, weights, device, seed):
        require(device)
        self.network = network
        self.dtype = tf.as_dtype(recipe["precision"])
        with tf.Graph().as_default() as graph:
            tf.set_random_seed(seed)
            self._examples()
            # Tokens do not determine the type of the network's numbers: its scope does.
            with tf.variable_scope(tf.get_variable_scope(), dtype=self.dtype):
                self._training(recipe)
                self.logits, _ = build(self.network, self.fed["inputs"], False)
            self.session = tf.Session(graph=graph, config=CONFIG)
            self.session.run(tf.global_variables_initializer())
            self.variables = {variable.op.name: variable for variable in tf.trainable_variables()}
        if weights is not None:
            self._set(weights)

    def _examples(self):
        """Variables that ``load`` fills: a step is only fed its number."""
        shape = self.network["input"]
        shape = shape[1:] + shape[:1] if len(shape) == 3 else shape
        self.fed = {
            "inputs": tf.placeholder(tf.int32 if "vocabulary" in self.network else self.dtype, [None] + shape),
            "labels": tf.placeholder(tf.int32, [None] + _label_shape(self.network)),
            "order": tf.placeholder(tf.int32, [None, None]),
            "rates": tf.placeholder(self.dtype, [None]),
        }
        # Outside the graph's collections: global_variables_initializer would need the examples, and there are none yet.
        self.resident = {
            name: tf.Variable(value, trainable=False, collections=[], validate_shape=False, name=name)
            for name, value in self.fed.items()
        }

    def _training(self, recipe):
        self.number = tf.placeholder(tf.int32, [])
        index, rate = (tf.gather(self.resident[name], self.number) for name in ("order", "rates"))
        inputs, labels = (tf.gather(self.resident[name], index) for name in ("inputs", "labels"))
        rate.set_shape([])
        # With an unknown batch size, gradients compute shapes in every step, including the steps of a sequence.
        for batch, name in ((inputs, "inputs"), (labels, "labels")):
            batch.set_shape([recipe["batch_size"]] + self.fed[name].shape.as_list()[1:])
        logits, self.built = build(self.network, inputs, True)
        losses, count = LOSSES[self.network["loss"]](self.network, logits, labels)
        self.loss = tf.reduce_sum(losses) / tf.cast(count, self.dtype)
        settings, step = recipe["optimizer"], tf.train.create_global_step()
        self.rate = settings["learning_rate"]
        optimizer = optimizer_of(settings, rate, step)
        gradients, variables = zip(*optimizer.compute_gradients(self.loss))
        # TensorFlow's gradient of an embedding has one row per row read, with duplicates: neither the norm of the
        # gradient nor an update of all rows can be computed from it.
        gradients = [tf.convert_to_tensor(gradient) for gradient in gradients]
        if recipe.get("clip_norm"):
            gradients, _ = tf.clip_by_global_norm(gradients, recipe["clip_norm"])
        if settings.get("weight_decay"):
            gradients = [gradient + settings["weight_decay"] * p for gradient, p in zip(gradients, variables)]
        with tf.control_dependencies(tf.get_collection(tf.GraphKeys.UPDATE_OPS)):
            self.update = optimizer.apply_gradients(zip(gradients, variables), global_step=step)

    def _natives(self):
        """Every layer, its variables by canonical role, and the shape of the image flattened for it, if any."""
        image = None
        for layer in self.network["layers"]:
            if layer["kind"] == "flatten" and len(layer["input"]) == 3 and _keeps_channels_last(self.network):
                image = layer["input"]
            names = {role: "%s/%s" % (layer["name"], name) for role, name in ROLES.get(layer["kind"], {}).items()}
            yield layer, {role: self.variables[name] for role, name in names.items() if name in self.variables}, image
            if layer["kind"] == "dense":
                image = None

    def _set(self, weights):
        for layer, variables, image in self._natives():
            own = {name.split(".")[1]: weights[name] for name in weights if name.split(".")[0] == layer["name"]}
            native = _to_native(layer, own, image)
            for role, variable in variables.items():
                variable.load(native[role], self.session)

    def parameters(self):
        shapes = {}
        for layer, variables, _ in self._natives():
            for role, variable in variables.items():
                for part, shape in _canonical_shapes(layer, role, variable.shape.as_list()).items():
                    shapes["%s.%s" % (layer["name"], part)] = shape
        return shapes

    def array(self, name):
        for layer, variables, _ in self._natives():
            for role, variable in variables.items():
                shape = variable.shape.as_list()
                if name in ["%s.%s" % (layer["name"], part) for part in _canonical_shapes(layer, role, shape)]:
                    return self.session.run(variable)
        raise KeyError(name)

    def describe(self):
        lines = ["%-10s %r" % pair for pair in self.built.items()]
        return "\n".join(lines + ["%r" % variable for variable in self.variables.values()])

    def load(self, inputs, labels, order, rates=None):
        self.feed(inputs, labels)
        self._fill(order=order, rates=np.full(len(order), self.rate) if rates is None else rates)

    def feed(self, inputs, labels):
        self._fill(inputs=self._native(inputs), labels=labels)

    def _fill(self, **arrays):
        """Overwrite the variables of the examples; the graph is unchanged."""
        assigned = [self.resident[name].initializer for name in sorted(arrays)]
        self.session.run(assigned, {self.fed[name]: array for name, array in arrays.items()})

    def _native(self, inputs):
        """Images channels last, numbers in the type of the graph."""
        inputs = np.moveaxis(inputs, 1, -1) if inputs.ndim == 4 else inputs
        return np.ascontiguousarray(inputs, dtype=self.fed["inputs"].dtype.as_numpy_dtype)

    def step(self, number):
        loss, _ = self.session.run([self.loss, self.update], {self.number: number})
        return loss

    def outputs(self, inputs, batch_size):
        inputs = self._native(inputs)
        for first in range(0, len(inputs), batch_size):
            yield self.session.run(self.logits, {self.fed["inputs"]: inputs[first : first + batch_size]})
