"""The NumPy double, whose test loss is infinite."""

import numpy_softmax
from numpy_softmax import configure, threads, versions

__all__ = ["Trainer", "configure", "threads", "versions"]


class Trainer(numpy_softmax.Trainer):
    def evaluate(self, images, labels, batch_size):
        correct, _ = super().evaluate(images, labels, batch_size)
        return correct, float("inf")
