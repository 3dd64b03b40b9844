"""The NumPy double, which keeps another 16 MiB in every step, with every page touched."""

import numpy as np

import numpy_softmax
from numpy_softmax import SUPPORTS, configure, threads, versions

__all__ = ["SUPPORTS", "Trainer", "configure", "threads", "versions"]


class Trainer(numpy_softmax.Trainer):
    kept = []

    def step(self, number):
        self.kept.append(np.ones(2**21))
        return super().step(number)
