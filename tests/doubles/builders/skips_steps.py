"""The NumPy double under a loop that reports fewer steps than requested."""

from dlworker import operations

import numpy_softmax
from numpy_softmax import SUPPORTS, Trainer, threads, versions

__all__ = ["SUPPORTS", "Trainer", "configure", "threads", "versions"]


def configure(threads):
    numpy_softmax.configure(threads)
    whole = operations.timed_steps
    operations.timed_steps = lambda trainer, steps, first=0, **how: whole(trainer, steps - 1, first, **how)
