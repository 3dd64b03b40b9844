"""paced.py with an input pipeline that gives two batches: all steps behind them do nothing, in no time."""

import paced
from paced import SUPPORTS, configure, threads, versions

__all__ = ["SUPPORTS", "Trainer", "configure", "threads", "versions"]


class Trainer(paced.Trainer):
    step_seconds = 0.04

    def step(self, number):
        if number < 2:
            self.loss = super().step(number)
        return self.loss
