"""tinygrad on a machine with NVIDIA's GPUs, which it finds by its back end NV and, if a variable says so, by CUDA.

Building ends with the chosen back end: nothing can be computed on it here.
"""

import os

from dlworker.frameworks import tinygrad
from dlworker.frameworks.tinygrad import SUPPORTS, configure, threads, versions
from dlworker.protocol import RequestError
from tinygrad import Device
from tinygrad.helpers import DEV

__all__ = ["SUPPORTS", "Trainer", "configure", "threads", "versions"]


class Gpus:
    """In place of tinygrad's table of devices."""

    @property
    def DEFAULT(self):  # noqa: N802 - tinygrad's name
        return DEV.device or "NV"

    def __getitem__(self, name):
        if name == "CUDA" and "DOUBLE_HAS_CUDA" not in os.environ:
            raise OSError("libcuda.so.1: cannot open shared object file")
        return Device["CPU"]


tinygrad.Device = Gpus()


class Trainer:
    def __init__(self, network, recipe, weights, device, seed):
        tinygrad.choose(device)
        raise RequestError("unsupported", "chose %s" % DEV.device)
