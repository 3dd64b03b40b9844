"""The NumPy double, which allocates an array that no machine can hold."""

import numpy as np

import numpy_softmax
from numpy_softmax import SUPPORTS, configure, threads, versions

__all__ = ["SUPPORTS", "Trainer", "configure", "threads", "versions"]


class Trainer(numpy_softmax.Trainer):
    def step(self, number):
        return np.ones((2**40, 2**10)).sum()
