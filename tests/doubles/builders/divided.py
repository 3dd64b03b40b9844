"""clocked.py whose steps are divided: half of each is the backward pass. FAULT names what is wrong with the phases."""

import os

from dlworker import breakdown as phases

import clocked
import numpy_softmax
from clocked import SUPPORTS, Trainer, configure, threads, versions

__all__ = ["SUPPORTS", "Trainer", "breakdown", "configure", "threads", "versions"]

FAULT = os.environ.get("FAULT", "")
SHARES = (("input", 0.05), ("forward", 0.25), ("backward", 0.5), ("update", 0.2))
phases.monotonic = clocked.CLOCK.read


def breakdown(trainer):
    if FAULT == "raises":
        raise ValueError("no phases today")
    if FAULT == "dies":
        os._exit(1)
    return Phases(trainer)


class Phases(phases.Phases):
    left_seconds = 0.0

    def phases(self, number):
        for name, share in SHARES:
            seconds = share * clocked.Trainer.step_seconds
            if FAULT == "late" and name == "backward":
                # Queued, and computed by whatever waits for it.
                self.left_seconds = seconds
            else:
                clocked.CLOCK.now += 2 * seconds if FAULT == "twice" and name == "forward" else seconds
            yield name, [name]
        numpy_softmax.Trainer.step(self.trainer, number)

    def read(self, arrays):
        if arrays == ["backward"]:
            clocked.CLOCK.now += self.left_seconds
            self.left_seconds = 0.0
