"""clocked.py, which trains, but reports losses 5 below the real ones, which no cross-entropy has."""

import clocked
from clocked import SUPPORTS, configure, threads, versions

__all__ = ["SUPPORTS", "Trainer", "configure", "threads", "versions"]


class Trainer(clocked.Trainer):
    def step(self, number):
        return super().step(number) - 5.0
