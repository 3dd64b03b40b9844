"""JAX's sharded jit over several workers: XLA adds the exchange of gradients to the step, by gloo over TCP.

The step is that of one worker, over arrays that all workers share: the order of the examples is divided among them, all
else is on each of them. So batch normalisation and dropout, too, are of the whole batch. A worker is a process, or one
of several devices of a process (``devices``).
"""

import jax
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from dlworker.frameworks import jax as builder
from dlworker.jax_workers import join, leave
from dlworker.operators import Shared

__all__ = ["OF_EACH", "OPERATORS", "Trainer", "join", "leave"]

OF_EACH = ()


class Trainer(builder.Trainer):
    """The network in one of several workers, or on several devices."""

    def __init__(self, network, recipe, weights, device, seed, group):
        super().__init__(network, recipe, weights, device, seed)
        self.here = jax.local_devices()
        mesh = Mesh(np.array(jax.devices()), ("workers",))
        self.on_each = NamedSharding(mesh, PartitionSpec())
        self.divided = NamedSharding(mesh, PartitionSpec(None, "workers"))
        self._step_alone = self._step
        self._step = jax.jit(self._step.__wrapped__, donate_argnums=(0, 1, 2), out_shardings=self.on_each)
        self.weights, self.states, self.slots, self.key = self._together(
            (self.weights, self.states, self.slots, self.key)
        )

    def _together(self, own):
        """Arrays of this process, each the same on all workers, as arrays that they share."""
        return self._joined([jax.device_put(own, device) for device in self.here])

    def _joined(self, of_devices):
        """The arrays that each device of this process has, as arrays that all workers share."""

        def shared(*arrays):
            return jax.make_array_from_single_device_arrays(arrays[0].shape, self.on_each, list(arrays))

        return jax.tree.map(shared, *of_devices)

    def load(self, inputs, labels, order, rates=None):
        super().load(inputs, labels, order, rates)
        own = np.asarray(self.order)
        parts = np.split(own, len(self.here), axis=1)
        self.own_orders = [jax.device_put(part, device) for part, device in zip(parts, self.here)]
        self.order = jax.make_array_from_process_local_data(self.divided, own)
        self.rates = self._together(self.rates)

    def feed(self, inputs, labels):
        super().feed(inputs, labels)
        self.inputs, self.labels = self._together((self.inputs, self.labels))

    def step_alone(self, number):
        shared = self.weights, self.states, self.slots
        # A step overwrites its device's arrays, and with them those of which they are a part.
        states = [_of_device(shared, place) for place in range(len(self.here))]
        found = [self._taken_alone(place, state, number) for place, state in enumerate(states)]
        *changed, losses = zip(*found)
        self.weights, self.states, self.slots = (self._joined(of_devices) for of_devices in changed)
        return np.mean([np.asarray(loss) for loss in losses])

    def _taken_alone(self, place, state, number):
        """What a step without exchange leaves on a device of this process."""
        examples, rates, key = _of_device(((self.inputs, self.labels), self.rates, self.key), place)
        return self._step_alone(*state, examples, (self.own_orders[place], rates), key, number)

    def copies(self, name):
        """A parameter as each device of this process has it."""
        layer, role = name.split(".")
        return [np.asarray(_of_device(self.weights[layer][role], place)) for place in range(len(self.here))]

    def outputs(self, inputs, batch_size):
        # A program over shared arrays would wait for the other workers.
        shared = self.weights, self.states, self.key
        self.weights, self.states, self.key = _of_device(shared, 0)
        try:
            yield from super().outputs(inputs, batch_size)
        finally:
            self.weights, self.states, self.key = shared


def _of_device(shared, place):
    """The copies that a device of this process has of arrays that are on each."""
    device = jax.local_devices()[place]

    def own(array):
        # They are in the order of the devices of their sharding, which a step may change.
        return next(part.data for part in array.addressable_shards if part.device == device)

    return jax.tree.map(own, shared)


class AllReduce(Shared):
    """psum over the workers of a row of each, compiled."""

    def __init__(self, array):
        mesh = Mesh(np.array(jax.devices()), ("workers",))
        rows = NamedSharding(mesh, PartitionSpec("workers"))
        self.rows = jax.make_array_from_process_local_data(rows, array[np.newaxis])
        shard_map = getattr(jax, "shard_map", None)
        if shard_map is None:
            from jax.experimental.shard_map import shard_map  # noqa: PLC0415 - before 0.6

        def summed(row):
            return jax.lax.psum(row[0], "workers")

        self.summed = jax.jit(
            shard_map(summed, mesh=mesh, in_specs=PartitionSpec("workers"), out_specs=PartitionSpec())
        )

    def compute(self):
        return (self.summed(self.rows),)

    @staticmethod
    def wait(results):
        jax.block_until_ready(results)

    def read(self, names, results):
        return [np.array(result.addressable_data(0)) for result in results]


OPERATORS = {"all_reduce": AllReduce}
