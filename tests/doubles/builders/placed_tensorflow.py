"""TensorFlow on the second of two logical devices: everything that it computes with must be there in every step.

TensorFlow puts what has no device of its own on the one in use: on a GPU, the only one that the builder leaves visible.
"""

from functools import partial

import tensorflow as tf
from dlworker.frameworks import tensorflow as builder
from dlworker.frameworks.tensorflow import SUPPORTS, configure, threads, versions

__all__ = ["SUPPORTS", "Trainer", "configure", "threads", "versions"]

DEVICE = "/job:localhost/replica:0/task:0/device:CPU:1"


def use(device):
    (processor,) = tf.config.list_physical_devices("CPU")
    tf.config.set_logical_device_configuration(processor, [tf.config.LogicalDeviceConfiguration()] * 2)


builder.use = use


def applied(apply, inputs):
    """What a part of an evaluation gives, which is where it should be."""
    outputs = apply(inputs)
    assert {inputs.device, outputs.device} == {DEVICE}
    return outputs


class Trainer(builder.Trainer):
    def __init__(self, *arguments):
        # Before any device is in use, since that would find them.
        builder.use(None)
        builder.use = lambda device: None
        with tf.device("CPU:1"):
            super().__init__(*arguments)
        self._apply = partial(applied, self._apply)

    def load(self, *arguments):
        with tf.device("CPU:1"):
            super().load(*arguments)

    def step(self, number):
        with tf.device("CPU:1"):
            loss = super().step(number)
        used = [*self.model.variables, *self.optimizer.variables, self.inputs, self.labels, *self.course, loss]
        assert {array.device for array in used} == {DEVICE}, [array.device for array in used]
        return loss

    def outputs(self, inputs, batch_size):
        with tf.device("CPU:1"):
            yield from super().outputs(inputs, batch_size)
