"""The NumPy double, whose answer to ``build`` has a text where a number belongs."""

import numpy_softmax
from numpy_softmax import SUPPORTS, configure, threads, versions

__all__ = ["SUPPORTS", "Trainer", "configure", "threads", "versions"]


class Trainer(numpy_softmax.Trainer):
    def parameters(self):
        return {"fc1.weight": ["sixteen", 3]}
