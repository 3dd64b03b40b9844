"""A PyTorch whose steps take 10 % longer, with the same results."""

from time import monotonic

from dlworker.frameworks import pytorch
from dlworker.frameworks.pytorch import SUPPORTS, configure, threads, versions

__all__ = ["SUPPORTS", "Trainer", "configure", "threads", "versions"]


class Trainer(pytorch.Trainer):
    factor = 1.1

    def step(self, number):
        began = monotonic()
        loss = float(super().step(number))
        until = began + self.factor * (monotonic() - began)
        while monotonic() < until:
            pass
        return loss
