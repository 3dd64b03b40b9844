"""The NumPy double, whose test loss is infinite."""

import numpy_softmax
from numpy_softmax import SUPPORTS, configure, threads, versions

__all__ = ["SUPPORTS", "Trainer", "configure", "threads", "versions"]


class Trainer(numpy_softmax.Trainer):
    def evaluate(self, inputs, labels, batch_size):
        correct, _ = super().evaluate(inputs, labels, batch_size)
        return correct, float("inf")
