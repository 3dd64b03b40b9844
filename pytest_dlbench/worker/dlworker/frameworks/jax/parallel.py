"""JAX's sharded jit over several processes: XLA adds the exchange of gradients to the step, by gloo over TCP.

The step is that of one worker, over arrays that all workers share: the order of the examples is divided among them, all
else is on each of them. So batch normalisation and dropout, too, are of the whole batch.
"""

import jax
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from dlworker.frameworks import jax as builder
from dlworker.meeting import address
from dlworker.operators import Shared

OF_EACH = ()


def join(group):
    """Meet at the first worker's coordinator; the workers then exchange over connections of their own."""
    jax.config.update("jax_cpu_collectives_implementation", "gloo")
    meeting = address(group)
    jax.distributed.initialize(meeting, group["workers"], group["rank"], coordinator_bind_address=meeting)


def leave():
    """End the connections to the other workers."""
    jax.distributed.shutdown()


class Trainer(builder.Trainer):
    """The network in one of several workers."""

    def __init__(self, network, recipe, weights, device, seed, group):
        super().__init__(network, recipe, weights, device, seed)
        mesh = Mesh(np.array(jax.devices()), ("workers",))
        self.on_each = NamedSharding(mesh, PartitionSpec())
        self.divided = NamedSharding(mesh, PartitionSpec(None, "workers"))
        self._step_alone = self._step
        self._step = jax.jit(self._step.__wrapped__, donate_argnums=(0, 1, 2), out_shardings=self.on_each)
        self.weights, self.states, self.slots, self.key = self._together(
            (self.weights, self.states, self.slots, self.key)
        )

    def _together(self, own):
        """Arrays of this worker, each the same on all workers, as arrays that they share."""

        def shared(array):
            return jax.make_array_from_single_device_arrays(array.shape, self.on_each, [array])

        return jax.tree.map(shared, own)

    def load(self, inputs, labels, order, rates=None):
        super().load(inputs, labels, order, rates)
        self.own_order = self.order
        self.order = jax.make_array_from_process_local_data(self.divided, np.asarray(self.order))
        self.rates = self._together(self.rates)

    def feed(self, inputs, labels):
        super().feed(inputs, labels)
        self.inputs, self.labels = self._together((self.inputs, self.labels))

    def step_alone(self, number):
        weights, states, slots, loss = self._step_alone(
            *_own((self.weights, self.states, self.slots)),
            _own((self.inputs, self.labels)),
            (self.own_order, _own(self.rates)),
            _own(self.key),
            number,
        )
        self.weights, self.states, self.slots = self._together((weights, states, slots))
        return loss

    def outputs(self, inputs, batch_size):
        # A program over shared arrays would wait for the other workers.
        shared = self.weights, self.states, self.key
        self.weights, self.states, self.key = _own(shared)
        try:
            yield from super().outputs(inputs, batch_size)
        finally:
            self.weights, self.states, self.key = shared


def _own(shared):
    """The copies that this worker has of arrays that are on each."""
    return jax.tree.map(lambda array: array.addressable_data(0), shared)


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
