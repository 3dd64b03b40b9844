"""The NumPy double, which claims to compute with oneDNN."""

from numpy_softmax import SUPPORTS as WITHOUT
from numpy_softmax import Trainer, configure, threads, versions

__all__ = ["SUPPORTS", "Trainer", "configure", "set_execution", "threads", "versions"]

SUPPORTS = {*WITHOUT, "library=onednn", "library=openblas"}


def set_execution(execution, device):
    """Does nothing."""
