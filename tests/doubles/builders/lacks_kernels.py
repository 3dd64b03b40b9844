"""The NumPy double, which fails like a framework that was compiled before its GPU was made."""

import numpy_softmax
from numpy_softmax import SUPPORTS, configure, threads, versions

__all__ = ["SUPPORTS", "Trainer", "configure", "threads", "versions"]


class Trainer(numpy_softmax.Trainer):
    def step(self, number):
        raise RuntimeError("CUDA error: no kernel image is available for execution on the device")
