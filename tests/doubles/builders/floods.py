"""The NumPy double, which writes 64 MB to its output while it trains: lines, one endless line, and rubbish."""

import os
import sys

import numpy_softmax
from numpy_softmax import SUPPORTS, configure, threads, versions

__all__ = ["SUPPORTS", "Trainer", "configure", "threads", "versions"]

MEGABYTE = 2**20


class Trainer(numpy_softmax.Trainer):
    def step(self, number):
        for descriptor in (1, 2):
            os.write(descriptor, b"line\n" * (MEGABYTE // 5))
            os.write(descriptor, b"endless " * (MEGABYTE // 8))
            os.write(descriptor, bytes(range(256)) * (MEGABYTE // 256))
        sys.stdout.write("::error::x \x1b[2J" * 1000)
        return super().step(number)
