"""The NumPy double, which fails as frameworks do whose device has no memory left: with an error of their own."""

import numpy_softmax
from numpy_softmax import SUPPORTS, configure, threads, versions

__all__ = ["SUPPORTS", "Trainer", "configure", "threads", "versions"]


class OutOfMemoryError(RuntimeError):
    """As torch.cuda.OutOfMemoryError, by its name and by its text."""


class Trainer(numpy_softmax.Trainer):
    def step(self, number):
        raise OutOfMemoryError("CUDA out of memory. Tried to allocate 20.00 GiB")
