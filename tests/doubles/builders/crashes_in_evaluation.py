"""The NumPy double, which trains and is killed by a signal in evaluation."""

import os

import numpy_softmax
from numpy_softmax import SUPPORTS, configure, threads, versions

__all__ = ["SUPPORTS", "Trainer", "configure", "threads", "versions"]


class Trainer(numpy_softmax.Trainer):
    def outputs(self, inputs, batch_size):
        os.abort()
