"""clocked.py, which trains in every second step only, and reports that step's loss again in the others."""

import clocked
from clocked import SUPPORTS, configure, threads, versions

__all__ = ["SUPPORTS", "Trainer", "configure", "threads", "versions"]


class Trainer(clocked.Trainer):
    def step(self, number):
        if number % 2 == 0:
            self.loss = super().step(number)
        else:
            clocked.CLOCK.now += self.step_seconds
        return self.loss
