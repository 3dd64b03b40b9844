"""A PyTorch that takes a tenth longer for every step: what it computes is the same."""

from time import monotonic

from dlworker.frameworks import pytorch
from dlworker.frameworks.pytorch import SUPPORTS, configure, threads, versions

__all__ = ["SUPPORTS", "Trainer", "configure", "threads", "versions"]


class Trainer(pytorch.Trainer):
    def step(self, number):
        began = monotonic()
        loss = float(super().step(number))
        until = began + 1.1 * (monotonic() - began)
        while monotonic() < until:
            pass
        return loss
