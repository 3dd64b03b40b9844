"""clocked.py, whose steps are only queued: each returns the first loss at once, and evaluation waits for all of them.

This is a framework whose builder forgets to synchronise.
"""

import clocked
from clocked import SUPPORTS, configure, threads, versions

__all__ = ["SUPPORTS", "Trainer", "configure", "threads", "versions"]


class Trainer(clocked.Trainer):
    step_seconds = 0.01

    def __init__(self, *arguments):
        super().__init__(*arguments)
        self.first = None
        self.queued = []

    def step(self, number):
        if self.first is None:
            self.first = super().step(number)
        clocked.CLOCK.now += 1e-5
        self.queued.append(number)
        return self.first

    def outputs(self, inputs, batch_size):
        for number in self.queued:
            super().step(number)
        self.queued = []
        return super().outputs(inputs, batch_size)
