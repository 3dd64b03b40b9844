"""clocked.py, whose steps are only queued: each returns a guessed loss at once, and evaluation waits for all of them.

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
        return self.first * (1 + len(self.queued) / 1000)

    def array(self, name):
        self._finish()
        return super().array(name)

    def outputs(self, inputs, batch_size):
        self._finish()
        return super().outputs(inputs, batch_size)

    def _finish(self):
        for number in self.queued:
            super().step(number)
        self.queued = []
