"""paced.py, whose input pipeline gives every second example the label of another digit."""

import numpy as np

import paced
from paced import configure, threads, versions

__all__ = ["Trainer", "configure", "threads", "versions"]


class Trainer(paced.Trainer):
    def load(self, images, labels, order):
        is_wrong = np.arange(len(labels)) % 2 == 0
        super().load(images, np.where(is_wrong, (labels + 1) % 10, labels), order)
