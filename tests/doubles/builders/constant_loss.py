"""clocked.py, which trains, but reports the same loss for every step."""

import clocked
from clocked import SUPPORTS, configure, threads, versions

__all__ = ["SUPPORTS", "Trainer", "configure", "threads", "versions"]


class Trainer(clocked.Trainer):
    def step(self, number):
        super().step(number)
        return 0.7
