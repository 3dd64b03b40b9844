"""The NumPy double, which reports its environment as if it were versions."""

import json
import os

import numpy_softmax
from numpy_softmax import SUPPORTS, Trainer, configure, threads

__all__ = ["SUPPORTS", "Trainer", "configure", "threads", "versions"]


def versions():
    """The versions of the double, and its environment."""
    seen = {
        "seen GLIBC_TUNABLES": os.environ.get("GLIBC_TUNABLES", ""),
        "seen cores": json.dumps(sorted(os.sched_getaffinity(0))),
    }
    return dict(numpy_softmax.versions(), **seen)
