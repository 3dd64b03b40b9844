"""clocked.py, which drops half of its input, in evaluation too."""

import numpy as np

import clocked
from clocked import SUPPORTS, configure, threads, versions

__all__ = ["SUPPORTS", "Trainer", "configure", "threads", "versions"]


class Trainer(clocked.Trainer):
    def outputs(self, inputs, batch_size):
        masks = np.random.RandomState(int(1e6 * np.random.rand())).rand(*inputs.shape) < 0.5
        return super().outputs(inputs * masks, batch_size)
