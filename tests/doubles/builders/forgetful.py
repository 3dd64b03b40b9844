"""clocked.py, whose input pipeline gives every second example a wrong label."""

import numpy as np

import clocked
from clocked import SUPPORTS, configure, threads, versions

__all__ = ["SUPPORTS", "Trainer", "configure", "threads", "versions"]


class Trainer(clocked.Trainer):
    def load(self, inputs, labels, order, rates=None):
        is_wrong = np.arange(len(labels)) % 2 == 0
        super().load(inputs, np.where(is_wrong, (labels + 1) % 10, labels), order, rates)
