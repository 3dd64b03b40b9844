"""Keras's distribution over several workers of JAX: DataParallel divides every batch, and XLA adds the exchange.

The step is that of one worker, over arrays that all workers share. So batch normalisation and dropout, too, are of the
whole batch.
"""

import jax
import keras
import numpy as np

from dlworker.frameworks import keras as builder
from dlworker.jax_workers import join, leave

__all__ = ["OF_EACH", "Trainer", "join", "leave"]

OF_EACH = ()


class Trainer(builder.Trainer):
    """The network in one of several workers, or on several devices."""

    def __init__(self, network, recipe, weights, device, seed, group):
        self.here = jax.local_devices()
        # Each worker has its own part of every batch already.
        distribution = keras.distribution.DataParallel(auto_shard_dataset=False)
        with distribution.scope():
            super().__init__(network, recipe, weights, device, seed)
        self.distribution = distribution
        self._apply = jax.jit(lambda *arrays: self.model.stateless_call(*arrays, training=False)[0])
        self._step_alone = jax.jit(self.model.train_step, donate_argnums=0)

    def step(self, number):
        with self.distribution.scope():
            return super().step(number)

    def step_alone(self, number):
        with keras.device(self.device):
            self._set_rate(number)
            self.model.reset_metrics()
            parts = self._parts_here(*self._batch(number))
        # A step overwrites its device's state, and with it the array of which that is a part.
        states = [self._state(place) for place in range(len(self.here))]
        found = [self._step_alone(state, part) for state, part in zip(states, parts)]
        logs, states = zip(*found)
        for variables, of_devices in zip(self._variables(), zip(*states)):
            for variable, arrays in zip(variables, zip(*of_devices)):
                variable.assign(_joined(variable, arrays))
        return np.mean([np.asarray(of_device["loss"]) for of_device in logs])

    def _parts_here(self, x, y):
        """The inputs and labels of each device of this worker, on that device."""
        divided = [np.split(np.asarray(array), len(self.here)) for array in jax.tree.leaves((x, y))]
        shape = jax.tree.structure((x, y))
        of_devices = zip(self.here, zip(*divided))
        return [jax.device_put(jax.tree.unflatten(shape, arrays), device) for device, arrays in of_devices]

    def _variables(self):
        model = self.model
        return (
            model.trainable_variables,
            model.non_trainable_variables,
            model.optimizer.variables,
            model.metrics_variables,
        )

    def _state(self, place):
        """The copies of all variables that a device of this worker has."""
        return tuple([variable.value.addressable_data(place) for variable in some] for some in self._variables())

    def copies(self, name):
        """A parameter as each device of this process has it."""
        natives = self._natives()
        shared = next(v.value for layer, role, v in natives if "%s.%s" % (layer["name"], role) == name)
        return [np.asarray(shared.addressable_data(place)) for place in range(len(self.here))]

    def outputs(self, inputs, batch_size):
        # A program over shared arrays would wait for the other workers.
        trained, others, _, _ = self._state(0)
        for given in self._parts(inputs, batch_size):
            yield np.asarray(self._apply(trained, others, given))


def _joined(variable, arrays):
    """The arrays that the devices of this worker have of a variable, as one that all workers share."""
    shared = variable.value
    return jax.make_array_from_single_device_arrays(shared.shape, shared.sharding, list(arrays))
