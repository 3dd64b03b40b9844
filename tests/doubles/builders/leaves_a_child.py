"""The NumPy double, whose training leaves a child process outside of the worker's process group."""

import os
import signal

import numpy_softmax
from numpy_softmax import SUPPORTS, configure, threads, versions

__all__ = ["SUPPORTS", "Trainer", "configure", "threads", "versions"]


class Trainer(numpy_softmax.Trainer):
    def load(self, inputs, labels, order, rates=None):
        super().load(inputs, labels, order, rates)
        has_left, leaves = os.pipe()
        if not os.fork():
            os.setsid()
            os.write(leaves, b"!")
            signal.pause()
        # Killing the worker's group must not kill the child.
        os.read(has_left, 1)
