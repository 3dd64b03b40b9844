"""JAX: pure functions over a dictionary of arrays, one jitted step, optax for the update. Images are channels last."""

from contextlib import suppress
from functools import partial
from glob import glob

import jax
import jax.numpy as jnp
import numpy as np
import optax

from dlworker.frameworks.jax.execution import EXECUTION, set_execution
from dlworker.frameworks.jax.layers import KINDS, apply, operator_of
from dlworker.frameworks.jax.losses import LOSSES, mean_loss
from dlworker.frameworks.jax.optimizers import OPTIMIZERS, optimizer
from dlworker.frameworks.jax.precision import MIXED
from dlworker.frameworks.jax.weights import first_states, own_weights, to_native
from dlworker.protocol import RequestError
from dlworker.xla_flags import round_products

__all__ = ["SUPPORTS", "Trainer", "configure", "set_execution", "threads", "versions"]

SUPPORTS = {
    *KINDS,
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
    """XLA's CPU pool reads NPROC, which the driver set before this Python started."""


def threads():
    """The threads of XLA's CPU pool, counted by thread name within this process; None if there are none.

    Neither JAX nor XLA has a function for their number. They start with the first device, and stay.
    """
    jax.devices()
    return sum(name.endswith("XLAEigen") for name in _thread_names()) or None


def _thread_names():
    for path in glob("/proc/self/task/*/comm"):
        # A thread may have ended in the meantime.
        with suppress(OSError), open(path, encoding="utf-8", errors="replace") as file:
            yield file.read().strip()


def versions():
    """JAX, the compiler that comes with jaxlib, and the optimiser library."""
    return {"jax": jax.__version__, "jaxlib": jax.lib.__version__, "optax": optax.__version__}


class Trainer:
    """The arrays, the optimiser's state and the compiled step."""

    def __init__(self, network, recipe, weights, device, seed):
        jax.config.update("jax_enable_x64", recipe["precision"] == "float64")
        mixed = self.mixed = MIXED.get(recipe["precision"])
        self.dtype = np.dtype("float32" if mixed else recipe["precision"])
        compute = partial(apply, dtype=mixed) if mixed else apply
        self.network, self.layers = network, network["layers"]
        self.device = _find(device)
        if device != "cpu":
            # By default XLA may round the operands of products on a GPU to 10 binary digits (TF32).
            round_products(jax, recipe)
        self.key = jax.random.key(seed)
        native = own_weights(self.layers, self.key) if weights is None else to_native(self.layers, weights)
        # Everything a step uses is put on the device here: otherwise the second step would be compiled again.
        self.weights = jax.tree.map(lambda array: jax.device_put(array.astype(self.dtype), self.device), native)
        self.states = jax.device_put(first_states(self.layers, self.dtype), self.device)
        transforms = optimizer(recipe)
        self.rate = recipe["optimizer"]["learning_rate"]
        self.slots = jax.device_put(transforms.init(self.weights), self.device)
        self.loss_of, self.changed = partial(_loss_of, network, compute), partial(_changed, transforms)
        self.accumulation = recipe.get("accumulation", 1)
        self._step = _compiled_step(self.loss_of, self.changed, self.accumulation)
        self._apply = jax.jit(partial(_outputs, compute, network["layers"]))

    def parameters(self):
        shapes = {}
        for layer, own in self.weights.items():
            for role, array in own.items():
                shape = array.shape
                if len(shape) == 4:
                    shape = (shape[3], shape[2], shape[0], shape[1])
                shapes["%s.%s" % (layer, role)] = shape
        return shapes

    def computes_on(self):
        return "cpu" if self.device.platform == "cpu" else "gpu", self.device.device_kind

    def array(self, name):
        layer, role = name.split(".")
        return np.asarray(self.weights[layer][role])

    def peak_device_bytes(self):
        # None on the CPU, whose memory XLA does not count.
        counts = self.device.memory_stats()
        return None if counts is None else counts.get("peak_bytes_in_use")

    def describe(self):
        lines = ["%-10s %s" % (layer["name"], operator_of(layer, self.dtype)) for layer in self.layers]
        return "\n".join(lines) + "\n" + str(jax.tree.map(jnp.shape, self.weights))

    def load(self, inputs, labels, order, rates=None):
        self.feed(inputs, labels)
        rates = np.full(len(order), self.rate) if rates is None else rates
        places = np.array(order, dtype=np.int32), np.array(rates, dtype=self.dtype)
        self.order, self.rates = jax.device_put(places, self.device)

    def stage(self, inputs, labels):
        """A batch on the device: it arrives there while the steps before it run."""
        dtype = self.dtype if self.network["loss"] == "detection" else np.int32
        return self._inputs(inputs), jax.device_put(np.array(labels, dtype=dtype), self.device)

    def feed(self, inputs, labels):
        is_staged = isinstance(inputs, jax.Array)
        self.inputs, self.labels = (inputs, labels) if is_staged else self.stage(inputs, labels)

    def _inputs(self, inputs):
        inputs = np.moveaxis(inputs, 1, -1) if inputs.ndim == 4 else inputs
        dtype = np.int32 if "vocabulary" in self.network else self.dtype
        return jax.device_put(np.ascontiguousarray(inputs, dtype=dtype), self.device)

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

    def outputs(self, inputs, batch_size):
        inputs = self._inputs(inputs)
        for first in range(0, len(inputs), batch_size):
            yield np.asarray(self._apply(self.weights, self.states, inputs[first : first + batch_size], self.key))


def _find(device):
    platform, _, number = device.partition(":")
    try:
        return jax.local_devices(backend=platform)[int(number or 0)]
    except (RuntimeError, IndexError) as error:
        raise RequestError("unsupported", "JAX found no %s: %s" % (device, error))


def _loss_of(network, apply, weights, states, batch, key):
    """The loss of a batch, and the states after it."""
    inputs, answers = batch
    truth = answers if network["loss"] == "detection" else None
    logits, new_states = apply(network["layers"], weights, states, inputs, key, True, truth=truth)
    return mean_loss(network, logits, answers), new_states


def _changed(transforms, gradients, slots, weights, rate):
    """The weights and the optimiser's state after an update."""
    updates, slots = transforms.update(gradients, slots, weights)
    updates = jax.tree.map(lambda update: -rate * update, updates)
    return optax.apply_updates(weights, updates), slots


def _compiled_step(loss_of, changed, accumulation):
    def step(weights, states, slots, examples, course, key, number):
        (inputs, labels), (order, rates) = examples, course

        def gradients_of(states, index, own_key):
            batch = inputs[index], labels[index]
            return jax.value_and_grad(loss_of, has_aux=True)(weights, states, batch, own_key)

        (loss, new_states), gradients = _of_batch(
            gradients_of, states, order[number], jax.random.fold_in(key, number), accumulation
        )
        weights, slots = changed(gradients, slots, weights, rates[number])
        return weights, new_states, slots, loss

    # The old weights, states and slots are not read again: XLA may overwrite them with the new ones.
    return jax.jit(step, donate_argnums=(0, 1, 2))


def _of_batch(gradients_of, states, index, key, accumulation):
    """The loss, the states after and the gradients of a batch, in parts whose means are taken if there are several."""
    if accumulation == 1:
        return gradients_of(states, index, key)
    parts = index.reshape(accumulation, -1)

    def add(carried, part):
        states, before = carried
        place, own_index = part
        (loss, states), gradients = gradients_of(states, own_index, jax.random.fold_in(key, place))
        return (states, jax.tree.map(lambda total, own: total + own / accumulation, before, (loss, gradients))), None

    (loss, _), gradients = jax.eval_shape(gradients_of, states, parts[0], key)
    zeros = jax.tree.map(lambda array: jnp.zeros(array.shape, array.dtype), (loss, gradients))
    carried, _ = jax.lax.scan(add, (states, zeros), (jnp.arange(accumulation), parts))
    states, (loss, gradients) = carried
    return (loss, states), gradients


def _outputs(apply, layers, weights, states, inputs, key):
    logits, _ = apply(layers, weights, states, inputs, key, False)
    return logits
