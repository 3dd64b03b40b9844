"""The NumPy double, whose first step computes for a second more."""

from time import process_time

import numpy_softmax
from numpy_softmax import SUPPORTS, configure, threads, versions

__all__ = ["SUPPORTS", "Trainer", "configure", "threads", "versions"]

SECONDS = 1.0


class Trainer(numpy_softmax.Trainer):
    def step(self, number):
        began = process_time()
        while number == 0 and process_time() - began < SECONDS:
            pass
        return super().step(number)
