"""The NumPy double, which reports to compute on a GPU; it notes the variables by which CUDA chooses one."""

import os
from time import monotonic

import numpy_softmax
from numpy_softmax import SUPPORTS, configure, threads

__all__ = ["SUPPORTS", "Trainer", "configure", "threads", "versions"]


def versions():
    return {name.lower(): os.environ[name] for name in ("CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER")}


class Trainer(numpy_softmax.Trainer):
    def computes_on(self):
        return "gpu", "NVIDIA A100-SXM4-40GB"

    def mark(self):
        return monotonic()

    def marked_seconds(self, first, last):
        return last - first
