"""The NumPy double, killed by a signal in its tenth step."""

import os
import signal

import numpy_softmax
from numpy_softmax import SUPPORTS, configure, threads, versions

__all__ = ["SUPPORTS", "Trainer", "configure", "threads", "versions"]


class Trainer(numpy_softmax.Trainer):
    def step(self, number):
        if number == 9:
            os.kill(os.getpid(), signal.SIGSEGV)
        return super().step(number)
