"""clocked.py with an input pipeline that gives two batches: all steps behind them do nothing, in next to no time."""

import clocked
from clocked import SUPPORTS, configure, threads, versions

__all__ = ["SUPPORTS", "Trainer", "configure", "threads", "versions"]


class Trainer(clocked.Trainer):
    step_seconds = 0.04

    def step(self, number):
        if number < 2:
            self.loss = super().step(number)
        else:
            clocked.CLOCK.now += 1e-6
        return self.loss
