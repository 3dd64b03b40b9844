"""The NumPy double, which updates its parameters, but computes with a copy of the first ones."""

import numpy_softmax
from numpy_softmax import SUPPORTS, configure, threads, versions

__all__ = ["SUPPORTS", "Trainer", "configure", "threads", "versions"]


class Trainer(numpy_softmax.Trainer):
    def __init__(self, *arguments):
        super().__init__(*arguments)
        self.first = {name: array.copy() for name, array in self.arrays.items()}

    def _forward(self, x):
        updated, self.arrays = self.arrays, self.first
        found = super()._forward(x)
        self.arrays = updated
        return found
