"""A PyTorch whose steps take twice as long, with the same results."""

from time import monotonic

from dlworker.frameworks import pytorch
from dlworker.frameworks.pytorch import SUPPORTS, configure, threads, versions

__all__ = ["SUPPORTS", "Trainer", "configure", "threads", "versions"]


class Trainer(pytorch.Trainer):
    def step(self, number):
        began = monotonic()
        loss = float(super().step(number))
        until = 2 * monotonic() - began
        while monotonic() < until:
            pass
        return loss
