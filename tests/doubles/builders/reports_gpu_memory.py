"""The NumPy double, which pretends to have a GPU: its peak memory is a thousand bytes, and one more per step."""

import numpy_softmax
from numpy_softmax import SUPPORTS, configure, threads, versions

__all__ = ["SUPPORTS", "Trainer", "configure", "threads", "versions"]


class Trainer(numpy_softmax.Trainer):
    taken = 1000

    def step(self, number):
        self.taken += 1
        return super().step(number)

    def peak_device_bytes(self):
        return self.taken
