"""The NumPy double, whose answer to ``build`` has a string instead of a number."""

import numpy_softmax
from numpy_softmax import SUPPORTS, configure, threads, versions

__all__ = ["SUPPORTS", "Trainer", "configure", "threads", "versions"]


class Trainer(numpy_softmax.Trainer):
    def parameters(self):
        return {"fc1.weight": ["sixteen", 3]}
