"""JAX's layers one by one: each is compiled by itself, forward with its residuals, and backward."""

from functools import partial

import jax
import jax.numpy as jnp

from dlworker import layerwise as base
from dlworker.breakdown import UndividedError
from dlworker.frameworks.jax.layers import MERGES, apply, flattens_natively
from dlworker.frameworks.jax.losses import mean_loss


def layerwise(trainer):
    """The layers; raises UndividedError for mixed precision, in which the network converts between them."""
    if trainer.mixed is not None:
        raise UndividedError("setting", "precision")
    return Layers(trainer)


class Layers(base.Layers):
    """Programs of a layer each."""

    def __init__(self, trainer):
        super().__init__(trainer)
        self._select = jax.jit(lambda examples, order, number: tuple(array[order[number]] for array in examples))
        self._forward = {layer["name"]: jax.jit(partial(self._passed, layer)) for layer, _ in self.nodes}
        self._loss = jax.jit(lambda logits, labels: jax.vjp(lambda x: mean_loss(trainer.network, x, labels), logits))
        self._back = jax.jit(lambda pull, gradient: pull(gradient))

    def batch(self, number):
        trainer = self.trainer
        return self._select((trainer.inputs, trainer.labels), trainer.order, number)

    def _passed(self, layer, own, states, values, inputs, key):
        """The output of a layer and its backward pass, by its arrays and by its values that are no ``inputs``."""
        return jax.vjp(lambda own, values: self._output(layer, own, states, [*inputs, *values], key), own, values)

    def _output(self, layer, own, states, values, key):
        if layer["kind"] in MERGES:
            return MERGES[layer["kind"]](layer, values, None)
        if layer["kind"] == "flatten" and not flattens_natively(self.trainer.layers):
            return jnp.moveaxis(values[0], -1, 1).reshape(len(values[0]), -1)
        # A network of this layer.
        alone = {name: value for name, value in layer.items() if name != "inputs"}
        return apply([alone], {layer["name"]: own}, states, values[0], key, True)[0]

    def forward(self, layer, values, is_first):
        trainer, name = self.trainer, layer["name"]
        inputs, values = (values, []) if is_first else ([], values)
        states = {name: trainer.states[name]} if name in trainer.states else {}
        own = trainer.weights.get(name, {})
        output, pull = self._forward[name](own, states, values, inputs, trainer.key)
        return output, (pull, len(inputs))

    def backward(self, kept, gradient):
        pull, inputs = kept
        own, found = self._back(pull, gradient)
        # Nobody else gets them.
        self.wait(own)
        return [None] * inputs + found

    def loss(self, logits, labels):
        loss, pull = self._loss(logits, labels)
        return loss, (pull, loss)

    def loss_gradient(self, kept):
        pull, loss = kept
        return self._back(pull, jnp.ones_like(loss))[0]

    def wait(self, computed):
        jax.block_until_ready(computed)
