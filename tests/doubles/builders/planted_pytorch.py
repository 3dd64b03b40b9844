"""A PyTorch with more arithmetic in every step of some networks: "0.05 in 12-32" in PLANTED is 5 % of a step's own.

Those are the networks of 12 layers with a batch size of 32. The amount is fixed in the first steps, by processor time:
how long a step takes, and how long one multiplication.
"""

import os
from time import process_time

import torch
from dlworker.frameworks import pytorch
from dlworker.frameworks.pytorch import SUPPORTS, configure, threads, versions

__all__ = ["SUPPORTS", "Trainer", "configure", "threads", "versions"]

# Steps that are measured, after those that compile and allocate.
FIRST, LAST = 2, 8
MULTIPLICATIONS = 400


class Trainer(pytorch.Trainer):
    def __init__(self, network, recipe, *arguments):
        super().__init__(network, recipe, *arguments)
        self.share = self.planted(network, recipe)
        self.factor = torch.ones(64, 64)
        self.seconds, self.more = [], 0

    @staticmethod
    def planted(network, recipe):
        """The share of a step that is added to it."""
        share, where = os.environ["PLANTED"].split(" in ")
        return float(share) if where == "%d-%d" % (len(network["layers"]), recipe["batch_size"]) else 0.0

    def step(self, number):
        began = process_time()
        loss = float(super().step(number))
        if self.share and FIRST <= number < LAST:
            self.seconds.append(process_time() - began)
            if number == LAST - 1:
                self.more = round(self.share * sorted(self.seconds)[len(self.seconds) // 2] / self.multiplication())
        self.multiply(self.more)
        return loss

    def multiplication(self):
        """Processor seconds of one."""
        best = []
        for _ in range(5):
            began = process_time()
            self.multiply(MULTIPLICATIONS)
            best.append((process_time() - began) / MULTIPLICATIONS)
        return min(best)

    def multiply(self, times):
        for _ in range(times):
            torch.mm(self.factor, self.factor)
