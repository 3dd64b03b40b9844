"""The NumPy double, whose tenth loss is not a number."""

import numpy_softmax
from numpy_softmax import SUPPORTS, configure, threads, versions

__all__ = ["SUPPORTS", "Trainer", "configure", "threads", "versions"]


class Trainer(numpy_softmax.Trainer):
    def step(self, number):
        loss = super().step(number)
        return float("nan") if number == 9 else loss
