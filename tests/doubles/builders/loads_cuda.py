"""The NumPy double, which loads libraries of CUDA as a framework for GPUs does."""

import ctypes

from numpy_softmax import SUPPORTS, Trainer, configure, threads, versions

__all__ = ["SUPPORTS", "Trainer", "configure", "threads", "versions"]

LIBRARIES = [ctypes.CDLL(name) for name in ("libcudart.so.12", "libcudnn.so.9")]
