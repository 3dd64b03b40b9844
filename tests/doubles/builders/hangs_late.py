"""The NumPy double, whose tenth step never ends."""

import signal

import numpy_softmax
from numpy_softmax import SUPPORTS, configure, threads, versions

__all__ = ["SUPPORTS", "Trainer", "configure", "threads", "versions"]


class Trainer(numpy_softmax.Trainer):
    def step(self, number):
        if number == 9:
            signal.pause()
        return super().step(number)
