"""The NumPy double, whose shapes are NumPy integers, which JSON cannot represent."""

import numpy as np

import numpy_softmax
from numpy_softmax import SUPPORTS, configure, threads, versions

__all__ = ["SUPPORTS", "Trainer", "configure", "threads", "versions"]


class Trainer(numpy_softmax.Trainer):
    def parameters(self):
        return {name: tuple(np.array(shape)) for name, shape in super().parameters().items()}
