"""JAX that checks in every step that everything it computes with is on its device."""

import jax
from dlworker.frameworks import jax as builder
from dlworker.frameworks.jax import SUPPORTS, configure, threads, versions

__all__ = ["SUPPORTS", "Trainer", "configure", "threads", "versions"]


class Trainer(builder.Trainer):
    def step(self, number):
        loss = super().step(number)
        examples = [self.inputs, self.labels, self.order, self.rates]
        used = jax.tree.leaves([self.weights, self.states, self.slots, examples, loss])
        assert {device for array in used for device in array.devices()} == {self.device}
        return loss
