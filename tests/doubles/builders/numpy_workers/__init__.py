"""The builder numpy_softmax, whose workers can train together, with a fault if FAULT in the environment names one."""

import os

from numpy_softmax import SUPPORTS, Trainer, configure, threads

__all__ = ["SUPPORTS", "Trainer", "configure", "threads", "versions"]

FAULT = os.environ.get("FAULT", "")
# The rank is known before versions are asked for.
JOINED = {"rank": 0}


def versions():
    """Those of numpy_softmax; the second worker has another with the fault "version"."""
    return {"numpy_workers": "2" if FAULT == "version" and JOINED["rank"] else "1"}
