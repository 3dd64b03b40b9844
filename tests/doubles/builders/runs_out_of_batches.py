"""clocked.py with an input pipeline of two batches: all later steps do nothing, in almost no time."""

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
