"""Keras that checks in every step that everything it computes with is on its device."""

import jax
from dlworker.frameworks import keras as builder
from dlworker.frameworks.keras import SUPPORTS, configure, threads, versions

__all__ = ["SUPPORTS", "Trainer", "configure", "threads", "versions"]


class Trainer(builder.Trainer):
    def step(self, number):
        loss = super().step(number)
        variables = [variable.value for variable in self.model.variables + self.model.optimizer.variables]
        kind, _, index = self.device.partition(":")
        used = [*variables, self.inputs, self.labels]
        assert {device for array in used for device in array.devices()} == {jax.devices(kind)[int(index)]}
        return loss
