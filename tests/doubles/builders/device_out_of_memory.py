"""The NumPy double, which fails like a framework whose device is out of memory: with the framework's own error."""

import numpy_softmax
from numpy_softmax import SUPPORTS, configure, threads, versions

__all__ = ["SUPPORTS", "Trainer", "configure", "threads", "versions"]


class OutOfMemoryError(RuntimeError):
    """Like torch.cuda.OutOfMemoryError in name and message."""


class Trainer(numpy_softmax.Trainer):
    def step(self, number):
        raise OutOfMemoryError("CUDA out of memory. Tried to allocate 20.00 GiB")
