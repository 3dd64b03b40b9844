"""A loss whose gradient is summed over the workers, and whose value is right."""

from dlworker.frameworks import keras as builder
from keras import ops


def install(parallel, group, plant):
    """Networks of this process use it."""
    workers = group["workers"]

    def summing(losses):
        def made(network):
            loss = losses(network)

            def summed(labels, logits):
                found = loss(labels, logits)
                return workers * found - (workers - 1) * ops.stop_gradient(found)

            return summed

        return made

    plant(builder, "LOSSES", {name: summing(losses) for name, losses in builder.LOSSES.items()})
