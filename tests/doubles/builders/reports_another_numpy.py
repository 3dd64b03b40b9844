"""The NumPy double, which reports a version of NumPy that is not installed."""

from numpy_softmax import SUPPORTS, Trainer, configure, threads

__all__ = ["SUPPORTS", "Trainer", "configure", "threads", "versions"]


def versions():
    return {"numpy": "1.0"}
