"""TensorFlow's MultiWorkerMirroredStrategy: gradients are averaged by collective operators in the graph, in a ring."""

import json
import os

import tensorflow as tf

from dlworker.frameworks import tensorflow as builder
from dlworker.meeting import address
from dlworker.operators import Shared

OF_EACH = ("batch_norm", "dropout", "detections")
# Made by join().
STRATEGIES = []


def join(group):
    """Listen at this worker's port and connect to all others."""
    workers = [address(group, rank) for rank in range(group["workers"])]
    task = {"type": "worker", "index": group["rank"]}
    os.environ["TF_CONFIG"] = json.dumps({"cluster": {"worker": workers}, "task": task})
    # TensorFlow refuses these settings once it is connected, unless they are the same.
    builder.configure(group["threads"])
    builder.use("cpu")
    collective = tf.distribute.experimental
    ring = collective.CommunicationOptions(implementation=collective.CommunicationImplementation.RING)
    STRATEGIES.append(tf.distribute.MultiWorkerMirroredStrategy(communication_options=ring))


def leave():
    """Does nothing: TensorFlow's connections end with the process."""


class Trainer(builder.Trainer):
    """The network in one of several workers. Batch normalisation uses its part of the batch."""

    exchanges, factors = True, None

    def __init__(self, network, recipe, weights, device, seed, group):
        with STRATEGIES[0].scope():
            super().__init__(network, recipe, weights, device, seed)
        # The weights are the same, and the dropout masks must not be.
        self.seed = seed + group["rank"]

    def _update(self, *arguments):
        return STRATEGIES[0].run(super()._update, arguments)

    def _weighed(self, loss, number):
        # Each label that counts has the same weight on all workers.
        return loss if self.factors is None else loss * tf.gather(tf.constant(self.factors, loss.dtype), number)

    def _exchanged(self, gradients):
        if not self.exchanges:
            return gradients
        return tf.distribute.get_replica_context().all_reduce(tf.distribute.ReduceOp.MEAN, gradients)

    def step_alone(self, number):
        if self.exchanges:
            self.exchanges, self._update = False, tf.function(self._update.python_function, autograph=False)
        return self.step(number)


class AllReduce(Shared):
    """The sum of a variable of each worker, by a collective operator in a function."""

    def __init__(self, array):
        # Not in the strategy's scope, in which all workers would get the first one's values.
        self.own = tf.Variable(array)

    @tf.function(autograph=False)
    def compute(self):
        return (STRATEGIES[0].run(self._summed),)

    def _summed(self):
        return tf.distribute.get_replica_context().all_reduce(tf.distribute.ReduceOp.SUM, self.own.read_value())

    def read(self, names, results):
        return [result.numpy().copy() for result in results]


OPERATORS = {"all_reduce": AllReduce}
