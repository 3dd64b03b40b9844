"""The NumPy double with a thread that computes all the time, like a pool whose idle threads spin."""

import threading

import numpy_softmax
from numpy_softmax import SUPPORTS, configure, threads, versions

__all__ = ["SUPPORTS", "Trainer", "configure", "threads", "versions"]


def spin():
    while True:
        pass


class Trainer(numpy_softmax.Trainer):
    def load(self, *arguments):
        super().load(*arguments)
        thread = threading.Thread(target=spin)
        thread.daemon = True
        thread.start()
