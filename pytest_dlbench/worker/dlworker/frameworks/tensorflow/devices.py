"""TensorFlow's MirroredStrategy over logical devices of the processor, each of which has a part of every batch."""

import tensorflow as tf

from dlworker.frameworks import tensorflow as builder
from dlworker.frameworks.tensorflow import parallel
from dlworker.frameworks.tensorflow.parallel import OF_EACH, STRATEGIES

__all__ = ["OF_EACH", "Trainer", "join", "leave"]


def join(group):
    """Have as many logical devices as there are workers, and as many threads as all of them together."""
    # TensorFlow refuses these settings once it has its devices, unless they are the same. With fewer operators at once
    # than devices, one would wait for another that never starts.
    builder.configure(group["workers"] * group["threads"])
    builder.use("cpu")
    (cpu,) = tf.config.list_physical_devices("CPU")
    tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * group["workers"])
    STRATEGIES.append(tf.distribute.MirroredStrategy([device.name for device in tf.config.list_logical_devices("CPU")]))


def leave():
    """Does nothing: there are no connections."""


def place():
    """Which of the devices a part of the graph is traced for; the first one outside of the strategy."""
    return 0 if tf.distribute.in_cross_replica_context() else replica_number()


def replica_number():
    number = tf.distribute.get_replica_context().replica_id_in_sync_group
    return number if isinstance(number, int) else int(tf.get_static_value(number))


def mean(of_devices):
    """The mean of what each device returned."""
    return STRATEGIES[0].reduce(tf.distribute.ReduceOp.MEAN, of_devices, axis=None)


class Trainer(parallel.Trainer):
    """The network on several devices. Batch normalisation uses each one's part of the batch."""

    @property
    def seed(self):
        """That of the device's dropout masks: the weights are the same, and these must not be."""
        return self.first_seed + place()

    @seed.setter
    def seed(self, value):
        self.first_seed = value

    def _update(self, *arguments):
        return mean(super()._update(*arguments))

    def _own(self, index):
        return tf.split(index, STRATEGIES[0].num_replicas_in_sync)[place()]

    def _weighed(self, loss, number):
        if self.factors is None:
            return loss
        return loss * tf.gather(tf.constant(self.factors[:, place()], loss.dtype), number)

    def copies(self, name):
        """A parameter as each device has it."""
        found = next(variable for variable in self.variables if variable.name.split(":")[0] == name)
        return [array.numpy() for array in STRATEGIES[0].experimental_local_results(found)]
