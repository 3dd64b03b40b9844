"""The NumPy double, which trains once; in every later run of the same folder for temporary files it hangs.

It announces that by a file ``hangs`` there.
"""

import os
import signal
import tempfile

import numpy_softmax
from numpy_softmax import SUPPORTS, configure, threads, versions

__all__ = ["SUPPORTS", "Trainer", "configure", "threads", "versions"]


class Trainer(numpy_softmax.Trainer):
    def load(self, inputs, labels, order, rates=None):
        super().load(inputs, labels, order, rates)
        self.is_first = not os.path.exists(os.path.join(tempfile.gettempdir(), "trained"))
        self.announce("trained")

    def step(self, number):
        if not self.is_first:
            self.announce("hangs")
            signal.pause()
        return super().step(number)

    @staticmethod
    def announce(name):
        open(os.path.join(tempfile.gettempdir(), name), "w").close()
