"""The NumPy double, which pretends to have a GPU, whose memory cannot be read."""

import numpy_softmax
from numpy_softmax import SUPPORTS, configure, threads, versions

__all__ = ["SUPPORTS", "Trainer", "configure", "threads", "versions"]


class Trainer(numpy_softmax.Trainer):
    def peak_device_bytes(self):
        raise OSError("lost")
