"""JAX: pure functions over a dictionary of arrays, one jitted step, optax for the update. Images are channels last."""

from contextlib import suppress
from functools import partial
from glob import glob

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax import lax

from dlworker.graph import run

SUPPORTS = {
    "adadelta",
    "adam",
    "add",
    "avg_pool",
    "batch_norm",
    "clip_norm",
    "concat",
    "conv2d",
    "cut",
    "dense",
    "dropout",
    "embedding",
    "flatten",
    "grouped_conv2d",
    "gru",
    "lengths",
    "local_response_norm",
    "log_softmax",
    "lstm",
    "max_pool",
    "pad_channels",
    "relu",
    "rmsprop",
    "schedule",
    "sequence_cross_entropy",
    "sgd",
    "sigmoid",
    "sigmoid_cross_entropy",
    "softmax_cross_entropy",
    "start",
    "tanh",
}


def configure(threads):
    """XLA's CPU pool reads NPROC, which the driver set before this Python started."""


def threads():
    """The threads of XLA's CPU pool, counted among those of this process by their name; None if there are none.

    Neither JAX nor XLA has a function that tells their number. They start with the first device, and stay.
    """
    jax.devices()
    return sum(name.endswith("XLAEigen") for name in _thread_names()) or None


def _thread_names():
    for path in glob("/proc/self/task/*/comm"):
        # A thread may have ended since.
        with suppress(OSError), open(path) as file:
            yield file.read().strip()


def versions():
    """JAX, the compiler that comes with jaxlib, and the optimiser library."""
    return {"jax": jax.__version__, "jaxlib": jax.lib.__version__, "optax": optax.__version__}


# Every layer is a function (layer, parameters, x, key, training) -> x. Batch norm has a state, too; recurrent layers
# and those of several inputs are called by what they need.


def conv2d(layer, parameters, x, key, training):
    x = lax.conv_general_dilated(
        x,
        parameters["weight"],
        layer["stride"],
        layer["padding"],
        dimension_numbers=("NHWC", "HWIO", "NHWC"),
        feature_group_count=layer.get("groups", 1),
    )
    return x + parameters["bias"] if layer["bias"] else x


def dense(layer, parameters, x, key, training):
    x = x @ parameters["weight"]
    return x + parameters["bias"] if layer["bias"] else x


def _windows(layer, x, start, combine):
    window, stride = (1, *layer["window"], 1), (1, *layer["stride"], 1)
    return lax.reduce_window(x, start, combine, window, stride, ((0, 0), *layer["padding"], (0, 0)))


def max_pool(layer, parameters, x, key, training):
    return _windows(layer, x, -jnp.inf, lax.max)


def avg_pool(layer, parameters, x, key, training):
    return _windows(layer, x, 0.0, lax.add) / _windows(layer, jnp.ones_like(x[:1, :, :, :1]), 0.0, lax.add)


def dropout(layer, parameters, x, key, training):
    if not training:
        return x
    keep = 1.0 - layer["rate"]
    return jnp.where(jax.random.bernoulli(key, keep, x.shape), x / keep, 0.0)


def local_response_norm(layer, parameters, x, key, training):
    window, around = (1, 1, 1, layer["size"]), (layer["size"] // 2,) * 2
    sums = lax.reduce_window(x * x, 0.0, lax.add, window, (1, 1, 1, 1), ((0, 0), (0, 0), (0, 0), around))
    return x / (layer["k"] + layer["alpha"] / layer["size"] * sums) ** layer["beta"]


def pad_channels(layer, parameters, x, key, training):
    return jnp.pad(x, ((0, 0), (0, 0), (0, 0), (0, layer["added"])))


LAYERS = {
    "conv2d": conv2d,
    "grouped_conv2d": conv2d,
    "local_response_norm": local_response_norm,
    "pad_channels": pad_channels,
    "log_softmax": lambda layer, parameters, x, key, training: jax.nn.log_softmax(x),
    "embedding": lambda layer, parameters, x, key, training: parameters["weight"][x],
    "cut": lambda layer, parameters, x, key, training: x[:, layer["first"] : layer["last"]],
    "dense": dense,
    "max_pool": max_pool,
    "avg_pool": avg_pool,
    "dropout": dropout,
    "flatten": lambda layer, parameters, x, key, training: x.reshape(len(x), -1),
    "relu": lambda layer, parameters, x, key, training: jax.nn.relu(x),
    "tanh": lambda layer, parameters, x, key, training: jnp.tanh(x),
    "sigmoid": lambda layer, parameters, x, key, training: jax.nn.sigmoid(x),
}


def batch_norm(layer, parameters, state, x, training):
    """Normalised x and the new running statistics."""
    if training:
        axes = tuple(range(x.ndim - 1))
        mean, variance = x.mean(axes), x.var(axes)
        count = x.size // x.shape[-1]
        state = {
            "mean": layer["decay"] * state["mean"] + (1 - layer["decay"]) * mean,
            "variance": layer["decay"] * state["variance"] + (1 - layer["decay"]) * variance * count / (count - 1),
        }
    else:
        mean, variance = state["mean"], state["variance"]
    scale = parameters["scale"] * lax.rsqrt(variance + layer["epsilon"])
    return (x - mean) * scale + parameters["shift"], state


def lstm_cell(units, parameters, state, projected):
    """The state, hidden and cell, after one step; ``projected`` is what the step's input adds to the gates."""
    hidden, cell = state
    gates = projected + hidden @ parameters["recurrent"]
    i, f, g, o = jnp.split(gates, 4, axis=1)
    cell = jax.nn.sigmoid(f) * cell + jax.nn.sigmoid(i) * jnp.tanh(g)
    return jax.nn.sigmoid(o) * jnp.tanh(cell), cell


def gru_cell(units, parameters, state, projected):
    (hidden,) = state
    recurrent = hidden @ parameters["recurrent"] + parameters["recurrent_bias"]
    r, z = jnp.split(jax.nn.sigmoid((projected + recurrent)[:, : 2 * units]), 2, axis=1)
    new = jnp.tanh(projected[:, 2 * units :] + r * recurrent[:, 2 * units :])
    return ((1 - z) * new + z * hidden,)


CELLS = {"lstm": (lstm_cell, 2), "gru": (gru_cell, 1)}


def recurrent(layer, parameters, x, lengths, start):
    """Outputs of all steps or the last one, and the last state. Behind its length a sequence keeps its state."""
    cell, parts = CELLS[layer["kind"]]
    units = layer["units"]
    state = start or (jnp.zeros((len(x), units), x.dtype),) * parts
    # What inputs add to the gates does not depend on the state: one product for all steps.
    projected = jnp.moveaxis(x @ parameters["weight"] + parameters["bias"], 1, 0)

    def step(state, now):
        number, values = now
        new = cell(units, parameters, state, values)
        if lengths is not None:
            goes_on = (number < lengths)[:, None]
            new = tuple(jnp.where(goes_on, after, before) for after, before in zip(new, state))
        return new, new[0] if layer["sequence"] else None

    state, outputs = lax.scan(step, state, (jnp.arange(len(projected)), projected))
    return (jnp.moveaxis(outputs, 0, 1) if layer["sequence"] else state[0]), state


def apply(layers, parameters, states, inputs, key, training):
    """Logits and the new batch-norm states. The loop runs when XLA traces it, not in a step."""
    positions = {layer["name"]: position for position, layer in enumerate(layers)}
    new_states, lengths, ends = dict(states), {}, {}

    def call(layer, values):
        name, kind = layer["name"], layer["kind"]
        own, x = parameters.get(name, {}), values[0]
        if kind == "add":
            return sum(values[1:], x)
        if kind == "concat":
            return jnp.concatenate(values, axis=-1)
        if kind == "batch_norm":
            x, new_states[name] = batch_norm(layer, own, states[name], x, training)
            return x
        if kind in CELLS:
            x, ends[name] = recurrent(layer, own, x, lengths.get(layer.get("lengths")), ends.get(layer.get("start")))
            return x
        if kind == "embedding" and layer["padding"] is not None:
            lengths[name] = (x != layer["padding"]).sum(1)
        return LAYERS[kind](layer, own, x, jax.random.fold_in(key, positions[name]), training)

    return run(layers, inputs, call), new_states


def _to_native(layers, weights):
    """Canonical arrays in the layout of channels-last JAX, as {layer: {role: array}}."""
    native, image = {}, None
    for layer in layers:
        if layer["kind"] == "flatten" and len(layer["input"]) == 3:
            image = layer["input"]
        own = {name.split(".")[1]: array for name, array in weights.items() if name.split(".")[0] == layer["name"]}
        if layer["kind"] in ("conv2d", "grouped_conv2d"):
            own["weight"] = own["weight"].transpose(2, 3, 1, 0)
        elif image and layer["kind"] in ("dense", "batch_norm"):
            # Flattened images are row, column, channel here; the canonical order has the channel first.
            own = {role: _channels_last(array, image) if role != "bias" else array for role, array in own.items()}
        if layer["kind"] == "dense":
            image = None
        if own:
            native[layer["name"]] = own
    return native


def _channels_last(array, image):
    features = array.reshape(*image, -1).transpose(1, 2, 0, 3)
    return features.reshape(array.shape)


def _own_weights(layers, key):
    """What Flax's layers start from: LeCun normal weights, orthogonal recurrent ones, zero biases."""
    weights = {}
    for position, layer in enumerate(layers):
        if layer["kind"] in OWN:
            weights[layer["name"]] = OWN[layer["kind"]](layer, jax.random.fold_in(key, position))
    return weights


def _own_conv2d(layer, key):
    inputs, outputs = layer["input"][0] // layer.get("groups", 1), layer["output"][0]
    weight = lecun(key, (*layer["kernel"], inputs, outputs))
    return {"weight": weight, "bias": jnp.zeros(outputs)} if layer["bias"] else {"weight": weight}


def _own_dense(layer, key):
    weight = lecun(key, (layer["input"][-1], layer["output"][-1]))
    return {"weight": weight, "bias": jnp.zeros(layer["output"][-1])} if layer["bias"] else {"weight": weight}


def _own_recurrent(layer, key):
    units, gates = layer["units"], 4 if layer["kind"] == "lstm" else 3
    squares = [orthogonal(jax.random.fold_in(key, gate), (units, units)) for gate in range(gates)]
    own = {"weight": lecun(key, (layer["input"][1], gates * units)), "recurrent": jnp.hstack(squares)}
    biases = ("bias",) if layer["kind"] == "lstm" else ("bias", "recurrent_bias")
    return {**own, **{bias: jnp.zeros(gates * units) for bias in biases}}


lecun, orthogonal = jax.nn.initializers.lecun_normal(), jax.nn.initializers.orthogonal()
embed = jax.nn.initializers.variance_scaling(1.0, "fan_in", "normal", out_axis=0)
OWN = {
    "conv2d": _own_conv2d,
    "grouped_conv2d": _own_conv2d,
    "dense": _own_dense,
    "embedding": lambda layer, key: {"weight": embed(key, (layer["vocabulary"], layer["output"][-1]))},
    "batch_norm": lambda layer, key: {"scale": jnp.ones(layer["input"][0]), "shift": jnp.zeros(layer["input"][0])},
    "lstm": _own_recurrent,
    "gru": _own_recurrent,
}


def _first_states(layers, dtype):
    """Mean 0 and variance 1 for every batch norm."""
    sizes = {layer["name"]: layer["input"][0] for layer in layers if layer["kind"] == "batch_norm"}
    return {name: {"mean": jnp.zeros(size, dtype), "variance": jnp.ones(size, dtype)} for name, size in sizes.items()}


def _optimizer(recipe):
    """All of an update but the learning rate, which the step multiplies with."""
    settings = recipe["optimizer"]
    transforms = [optax.clip_by_global_norm(recipe["clip_norm"])] if recipe.get("clip_norm") else []
    if settings["kind"] == "adam":
        transforms.append(optax.scale_by_adam(b1=settings["beta1"], b2=settings["beta2"], eps=settings["epsilon"]))
    elif settings["kind"] == "adadelta":
        transforms.append(optax.scale_by_adadelta(rho=settings["rho"], eps=settings["epsilon"]))
    elif settings["kind"] == "rmsprop":
        transforms.append(optax.scale_by_rms(decay=settings["rho"], eps=settings["epsilon"], eps_in_sqrt=False))
    else:
        if settings["weight_decay"]:
            transforms.append(optax.add_decayed_weights(settings["weight_decay"]))
        if settings["momentum"]:
            transforms.append(optax.trace(decay=settings["momentum"], nesterov=settings["nesterov"]))
    return optax.chain(*transforms)


def _losses(network, logits, labels):
    """The loss of every answer, 0 for those that do not count, and which answers are right."""
    if network["loss"] == "sigmoid_cross_entropy":
        labels = labels.reshape(logits.shape)
        return optax.sigmoid_binary_cross_entropy(logits, labels.astype(logits.dtype)), (logits > 0) == (labels > 0)
    losses = optax.softmax_cross_entropy_with_integer_labels(logits, labels)
    right = logits.argmax(-1) == labels
    if network.get("ignored") is None:
        return losses, right
    counts = labels != network["ignored"]
    return jnp.where(counts, losses, 0.0), right & counts


def _count(network, labels):
    """How many answers count."""
    ignored = network.get("ignored")
    return labels.size if ignored is None else (labels != ignored).sum()


class Trainer:
    """The arrays, the optimiser's state and the compiled step."""

    def __init__(self, network, recipe, weights, device, seed):
        jax.config.update("jax_enable_x64", recipe["precision"] == "float64")
        self.dtype = np.dtype(recipe["precision"])
        self.network, self.layers = network, network["layers"]
        platform, _, number = device.partition(":")
        self.device = jax.devices(platform)[int(number or 0)]
        self.key = jax.random.key(seed)
        native = _own_weights(self.layers, self.key) if weights is None else _to_native(self.layers, weights)
        # All of a step is put on the device here: what was not would make the second step compile anew.
        self.weights = jax.tree.map(lambda array: jax.device_put(array.astype(self.dtype), self.device), native)
        self.states = jax.device_put(_first_states(self.layers, self.dtype), self.device)
        optimizer = _optimizer(recipe)
        self.rate = recipe["optimizer"]["learning_rate"]
        self.slots = jax.device_put(optimizer.init(self.weights), self.device)
        self._step = _compiled_step(network, optimizer)
        self._evaluate = jax.jit(partial(_evaluate, network))

    def parameters(self):
        shapes = {}
        for layer, own in self.weights.items():
            for role, array in own.items():
                shape = array.shape
                if len(shape) == 4:
                    shape = (shape[3], shape[2], shape[0], shape[1])
                shapes["%s.%s" % (layer, role)] = shape
        return shapes

    def describe(self):
        lines = ["%-10s %s" % (layer["name"], layer["kind"]) for layer in self.layers]
        return "\n".join(lines) + "\n" + str(jax.tree.map(jnp.shape, self.weights))

    def load(self, inputs, labels, order, rates=None):
        self.inputs, self.labels = self._examples(inputs, labels)
        rates = np.full(len(order), self.rate) if rates is None else rates
        places = np.array(order, dtype=np.int32), np.array(rates, dtype=self.dtype)
        self.order, self.rates = jax.device_put(places, self.device)

    def _examples(self, inputs, labels):
        inputs = np.moveaxis(inputs, 1, -1) if inputs.ndim == 4 else inputs
        dtype = np.int32 if "vocabulary" in self.network else self.dtype
        examples = np.ascontiguousarray(inputs, dtype=dtype), np.array(labels, dtype=np.int32)
        return jax.device_put(examples, self.device)

    def step(self, number):
        self.weights, self.states, self.slots, loss = self._step(
            self.weights,
            self.states,
            self.slots,
            (self.inputs, self.labels),
            (self.order, self.rates),
            self.key,
            number,
        )
        return loss

    def evaluate(self, inputs, labels, batch_size):
        inputs, labels = self._examples(inputs, labels)
        correct, total, count = 0, 0.0, 0
        for first in range(0, len(labels), batch_size):
            batch = slice(first, first + batch_size)
            right, loss, answers = self._evaluate(self.weights, self.states, inputs[batch], labels[batch], self.key)
            correct, total, count = correct + int(right), total + float(loss), count + int(answers)
        return correct, total / count


def _compiled_step(network, optimizer):
    layers = network["layers"]

    def step(weights, states, slots, examples, course, key, number):
        (inputs, labels), (order, rates) = examples, course
        index = order[number]
        answers = labels[index]

        def loss_of(weights):
            logits, new_states = apply(layers, weights, states, inputs[index], jax.random.fold_in(key, number), True)
            losses, _ = _losses(network, logits, answers)
            return losses.sum() / _count(network, answers), new_states

        (loss, new_states), gradients = jax.value_and_grad(loss_of, has_aux=True)(weights)
        updates, slots = optimizer.update(gradients, slots, weights)
        updates = jax.tree.map(lambda update: -rates[number] * update, updates)
        return optax.apply_updates(weights, updates), new_states, slots, loss

    # The old weights, states and slots are never read again: XLA may write the new ones in their place.
    return jax.jit(step, donate_argnums=(0, 1, 2))


def _evaluate(network, weights, states, inputs, labels, key):
    logits, _ = apply(network["layers"], weights, states, inputs, key, False)
    losses, right = _losses(network, logits, labels)
    return right.sum(), losses.sum(), _count(network, labels)
