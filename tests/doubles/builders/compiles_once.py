"""The NumPy double, which keeps settings in the home folder, and compiled code, which it compiles if missing."""

import os

import numpy_softmax
from numpy_softmax import SUPPORTS, configure, threads, versions

__all__ = ["SUPPORTS", "Trainer", "configure", "threads", "versions"]


class Trainer(numpy_softmax.Trainer):
    def load(self, inputs, labels, order, rates=None):
        super().load(inputs, labels, order, rates)
        folder = os.environ["XDG_CACHE_HOME"]
        os.makedirs(folder, exist_ok=True)
        with open(os.path.join(folder, "settings.json"), "a") as settings:
            settings.write("{}")
        code = os.path.join(folder, "kernel.so")
        if not os.path.exists(code):
            with open(code, "w") as file:
                file.write("code")
