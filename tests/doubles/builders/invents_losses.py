"""clocked.py, which trains nothing, but reports losses as plausible as real ones."""

import clocked
from clocked import SUPPORTS, configure, threads, versions

__all__ = ["SUPPORTS", "Trainer", "configure", "threads", "versions"]


class Trainer(clocked.Trainer):
    def step(self, number):
        clocked.CLOCK.now += self.step_seconds
        return 2.3 / (1 + 0.1 * number)
