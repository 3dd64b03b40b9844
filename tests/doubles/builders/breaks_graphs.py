"""counted.py with two graph breaks, planted where training compiles, and as fast."""

import clocked
from counted import SUPPORTS, configure, count, threads, versions

__all__ = ["SUPPORTS", "Trainer", "compiled", "configure", "count", "threads", "versions"]

BREAKS = 2


class Trainer(clocked.Trainer):
    breaks = 0

    def step(self, number):
        self.breaks = BREAKS
        return super().step(number)


def compiled(trainer):
    return {"graph_breaks": trainer.breaks}
