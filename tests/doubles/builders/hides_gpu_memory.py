"""The NumPy double, which pretends to have a GPU, and says why it does not report its memory."""

import numpy_softmax
from numpy_softmax import SUPPORTS, configure, threads, versions

__all__ = ["SUPPORTS", "Trainer", "configure", "threads", "versions"]


class Trainer(numpy_softmax.Trainer):
    def peak_device_bytes(self):
        return "it reports none"
