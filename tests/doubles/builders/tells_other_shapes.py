"""The NumPy double, whose answer to ``build`` has a text where a number belongs."""

import numpy_softmax
from numpy_softmax import configure, threads, versions

__all__ = ["Trainer", "configure", "threads", "versions"]


class Trainer(numpy_softmax.Trainer):
    def parameters(self):
        return {"fc1.weight": ["sixteen", 3]}
