"""JAX: pure functions over a dictionary of arrays, one jitted step, optax for the update. Images are channels last."""

from contextlib import suppress
from functools import partial
from glob import glob

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax import lax

from dlworker.protocol import RequestError


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


# Every layer is a function (layer, parameters, x, key, training) -> x. BatchNorm alone also has a state.


def conv2d(layer, parameters, x, key, training):
    x = lax.conv_general_dilated(
        x, parameters["weight"], layer["stride"], layer["padding"], dimension_numbers=("NHWC", "HWIO", "NHWC")
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


LAYERS = {
    "conv2d": conv2d,
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


def apply(layers, parameters, states, images, key, training):
    """Logits and the new batch-norm states. The loop runs when XLA traces it, not in a step."""
    x = images
    for position, layer in enumerate(layers):
        own = parameters.get(layer["name"], {})
        if layer["kind"] == "batch_norm":
            x, state = batch_norm(layer, own, states[layer["name"]], x, training)
            states = {**states, layer["name"]: state}
        else:
            x = LAYERS[layer["kind"]](layer, own, x, jax.random.fold_in(key, position), training)
    return x, states


def _to_native(layers, weights):
    """Canonical arrays in the layout of channels-last JAX, as {layer: {role: array}}."""
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
        if own:
            native[layer["name"]] = own
    return native


def _channels_last(array, image):
    features = array.reshape(*image, -1).transpose(1, 2, 0, 3)
    return features.reshape(array.shape)


def _own_weights(layers, key):
    """What Flax's layers start from: LeCun normal weights, zero biases."""
    lecun = jax.nn.initializers.lecun_normal()
    weights = {}
    for position, layer in enumerate(layers):
        own = jax.random.fold_in(key, position)
        if layer["kind"] == "conv2d":
            shape = (*layer["kernel"], layer["input"][0], layer["output"][0])
            weights[layer["name"]] = {"weight": lecun(own, shape)}
        elif layer["kind"] == "dense":
            weights[layer["name"]] = {"weight": lecun(own, (layer["input"][0], layer["output"][0]))}
        elif layer["kind"] == "batch_norm":
            channels = layer["input"][0]
            weights[layer["name"]] = {"scale": jnp.ones(channels), "shift": jnp.zeros(channels)}
        if layer.get("bias"):
            weights[layer["name"]]["bias"] = jnp.zeros(layer["output"][0])
    return weights


def _first_states(layers, dtype):
    """Mean 0 and variance 1 for every batch norm."""
    sizes = {layer["name"]: layer["input"][0] for layer in layers if layer["kind"] == "batch_norm"}
    return {name: {"mean": jnp.zeros(size, dtype), "variance": jnp.ones(size, dtype)} for name, size in sizes.items()}


def _optimizer(settings):
    if settings["kind"] != "sgd":
        raise RequestError("unsupported", "the JAX builder has no optimiser %r" % settings["kind"])
    momentum = settings["momentum"] or None
    sgd = optax.sgd(settings["learning_rate"], momentum=momentum, nesterov=settings["nesterov"])
    decay = settings["weight_decay"]
    return optax.chain(optax.add_decayed_weights(decay), sgd) if decay else sgd


def _losses(logits, labels):
    return optax.softmax_cross_entropy_with_integer_labels(logits, labels)


class Trainer:
    """The arrays, the optimiser's state and the compiled step."""

    def __init__(self, network, recipe, weights, device, seed):
        jax.config.update("jax_enable_x64", recipe["precision"] == "float64")
        self.dtype = np.dtype(recipe["precision"])
        self.layers = network["layers"]
        for layer in self.layers:
            if layer["kind"] not in LAYERS and layer["kind"] != "batch_norm":
                raise RequestError("unsupported", "the JAX builder has no layer %r" % layer["kind"])
        platform, _, number = device.partition(":")
        self.device = jax.devices(platform)[int(number or 0)]
        self.key = jax.random.key(seed)
        native = _own_weights(self.layers, self.key) if weights is None else _to_native(self.layers, weights)
        # All of a step is put on the device here: what was not would make the second step compile anew.
        self.weights = jax.tree.map(lambda array: jax.device_put(array.astype(self.dtype), self.device), native)
        self.states = jax.device_put(_first_states(self.layers, self.dtype), self.device)
        optimizer = _optimizer(recipe["optimizer"])
        self.slots = jax.device_put(optimizer.init(self.weights), self.device)
        self._step = _compiled_step(self.layers, optimizer)
        self._evaluate = jax.jit(partial(_evaluate, self.layers))

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

    def load(self, images, labels, order):
        self.images, self.labels = self._examples(images, labels)
        self.order = jax.device_put(np.array(order, dtype=np.int32), self.device)

    def _examples(self, images, labels):
        last = np.ascontiguousarray(np.moveaxis(images, 1, -1), dtype=self.dtype)
        return jax.device_put(last, self.device), jax.device_put(np.array(labels, dtype=np.int32), self.device)

    def step(self, number):
        self.weights, self.states, self.slots, loss = self._step(
            self.weights, self.states, self.slots, self.images, self.labels, self.order, self.key, number
        )
        return loss

    def evaluate(self, images, labels, batch_size):
        images, labels = self._examples(images, labels)
        correct, total = 0, 0.0
        for first in range(0, len(labels), batch_size):
            batch = slice(first, first + batch_size)
            right, loss = self._evaluate(self.weights, self.states, images[batch], labels[batch], self.key)
            correct, total = correct + int(right), total + float(loss)
        return correct, total / len(labels)


def _compiled_step(layers, optimizer):
    def step(weights, states, slots, images, labels, order, key, number):
        index = order[number]

        def loss_of(weights):
            logits, new_states = apply(layers, weights, states, images[index], jax.random.fold_in(key, number), True)
            return _losses(logits, labels[index]).mean(), new_states

        (loss, new_states), gradients = jax.value_and_grad(loss_of, has_aux=True)(weights)
        updates, slots = optimizer.update(gradients, slots, weights)
        return optax.apply_updates(weights, updates), new_states, slots, loss

    # The old weights, states and slots are never read again: XLA may write the new ones in their place.
    return jax.jit(step, donate_argnums=(0, 1, 2))


def _evaluate(layers, weights, states, images, labels, key):
    logits, _ = apply(layers, weights, states, images, key, False)
    return (logits.argmax(1) == labels).sum(), _losses(logits, labels).sum()
