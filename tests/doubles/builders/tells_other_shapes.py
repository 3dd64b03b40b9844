"""The NumPy double, whose answer to ``build`` has a text where a number belongs."""

import numpy_softmax
from numpy_softmax import configure, versions

__all__ = ["Trainer", "configure", "versions"]


class Trainer(numpy_softmax.Trainer):
    def parameters(self):
        return {"fc1.weight": ["sixteen", 3]}
