"""The NumPy double, whose first step never ends."""

from time import sleep

import numpy_softmax
from numpy_softmax import SUPPORTS, configure, threads, versions

__all__ = ["SUPPORTS", "Trainer", "configure", "threads", "versions"]


class Trainer(numpy_softmax.Trainer):
    def step(self, number):
        sleep(3600)
