"""The NumPy double, whose test loss is infinite."""

import numpy as np

import numpy_softmax
from numpy_softmax import SUPPORTS, configure, threads, versions

__all__ = ["SUPPORTS", "Trainer", "configure", "threads", "versions"]


class Trainer(numpy_softmax.Trainer):
    def outputs(self, inputs, batch_size):
        for logits in super().outputs(inputs, batch_size):
            yield np.where(np.arange(logits.shape[1]) == 0, logits, -np.inf)
