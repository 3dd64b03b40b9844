"""The builder numpy_softmax, which also has a single operator; FAULT in the environment names a fault of that."""

from numpy_softmax import SUPPORTS, Trainer, configure, threads

__all__ = ["SUPPORTS", "Trainer", "configure", "threads", "versions"]


def versions():
    """Its own."""
    return {"numpy_operators": "1"}
