"""leaves_a_child.py, whose first step never returns from C code that keeps the GIL, after announcing it by a file."""

import ctypes
import os

import leaves_a_child
from leaves_a_child import SUPPORTS, configure, threads, versions

__all__ = ["SUPPORTS", "Trainer", "configure", "threads", "versions"]


class Trainer(leaves_a_child.Trainer):
    def step(self, number):
        open(os.path.join(os.environ["HOME"], "hangs"), "w").close()
        ctypes.PyDLL(None).sleep(600)
