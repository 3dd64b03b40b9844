"""The NumPy double, killed by a signal in its third step, like a framework with a wild pointer."""

import os
import signal

import numpy_softmax
from numpy_softmax import SUPPORTS, configure, threads, versions

__all__ = ["SUPPORTS", "Trainer", "configure", "threads", "versions"]


class Trainer(numpy_softmax.Trainer):
    def step(self, number):
        if number == 2:
            print("about to follow a wild pointer")
            os.kill(os.getpid(), signal.SIGSEGV)
        return super().step(number)
