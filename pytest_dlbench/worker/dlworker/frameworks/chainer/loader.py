"""JPEG files by Chainer's iterators: processes that they fork, and Pillow, which chainer.datasets uses, too."""

import numpy as np
from chainer.dataset import DatasetMixin
from chainer.iterators import MultiprocessIterator, SerialIterator

from dlworker.images import collated, pillow

NAME = "chainer.iterators.MultiprocessIterator"
# Batches that are ready before they are asked for.
AHEAD = 2


def decoder():
    """What decodes the files."""
    return pillow()


class InOrder(DatasetMixin):
    """The images of all batches, one after the other."""

    def __init__(self, images, order):
        self.images, self.order = images, order.reshape(-1)

    def __len__(self):
        return len(self.order)

    def get_example(self, place):
        return self.images[self.order[place]]


def batches(images, order, workers, device):
    """Yield the batch of each row of the order, collated by this process, as Chainer's updaters do it."""
    pillow()
    data, settings = InOrder(images, order), {"batch_size": order.shape[1], "repeat": False, "shuffle": False}
    if workers:
        found = MultiprocessIterator(data, n_processes=workers, n_prefetch=AHEAD, **settings)
    else:
        found = SerialIterator(data, **settings)
    try:
        for samples in found:
            inputs, labels, seconds = collated(samples)
            yield inputs, np.array(labels), seconds
    finally:
        found.finalize()
