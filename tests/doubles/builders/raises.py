"""The NumPy double, whose second step raises an error of its own."""

import numpy_softmax
from numpy_softmax import SUPPORTS, configure, threads, versions

__all__ = ["SUPPORTS", "Trainer", "configure", "threads", "versions"]


def multiply(left, right):
    raise ValueError("shapes (2,3) and (4,5) not aligned")


class Trainer(numpy_softmax.Trainer):
    def step(self, number):
        return multiply(2, 3) if number == 1 else super().step(number)
