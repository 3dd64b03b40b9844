"""The phases of JAX's steps, compiled apart from each other: the forward pass hands its residuals to the backward pass.

The step itself is one program, in which XLA can fuse across phases and need not keep what the backward pass reads.
"""

import jax
import jax.numpy as jnp
import numpy as np

from dlworker import breakdown as phases
from dlworker.breakdown import require_single_worker


def breakdown(trainer):
    """The phases; raises UndividedError for parts of batches and for several workers."""
    # XLA adds the exchange of gradients to the step.
    require_single_worker(trainer, hasattr(trainer, "own_orders"), "jax.jit")
    return Phases(trainer)


class Phases(phases.Phases):
    """A step as four programs."""

    def __init__(self, trainer):
        super().__init__(trainer)
        loss_of, changed = trainer.loss_of, trainer.changed

        def select(examples, order, number):
            return tuple(array[order[number]] for array in examples)

        def forward(weights, states, batch, key, number):
            own_key = jax.random.fold_in(key, number)
            return jax.vjp(lambda weights: loss_of(weights, states, batch, own_key), weights, has_aux=True)

        def backward(pull, loss):
            return pull(jnp.ones_like(loss))[0]

        def update(weights, slots, gradients, rates, number):
            return changed(gradients, slots, weights, rates[number])

        self._select, self._forward, self._backward = jax.jit(select), jax.jit(forward), jax.jit(backward)
        self._update = jax.jit(update, donate_argnums=(0, 1))

    def phases(self, number):
        trainer = self.trainer
        batch = self._select((trainer.inputs, trainer.labels), trainer.order, number)
        yield "input", batch
        loss, pull, states = self._forward(trainer.weights, trainer.states, batch, trainer.key, number)
        yield "forward", [loss, pull, states]
        gradients = self._backward(pull, loss)
        yield "backward", [gradients]
        trainer.weights, trainer.slots = self._update(trainer.weights, trainer.slots, gradients, trainer.rates, number)
        trainer.states = states
        yield "update", [trainer.weights, trainer.slots]

    def wait(self, arrays):
        jax.block_until_ready(arrays)

    def read(self, arrays):
        # All of a program's results are there at the same time.
        np.asarray(min(jax.tree.leaves(arrays), key=lambda array: array.size))
