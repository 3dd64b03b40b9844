"""The NumPy double, which a signal ends in its third step, as a wild pointer in a framework would."""

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
