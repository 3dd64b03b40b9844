"""The same network on devices of one process, which is one array: its copies differ with the fault "unsynchronised"."""

import numpy_softmax
from numpy_workers import FAULT

OF_EACH = ()


def join(group):
    """Does nothing."""


def leave():
    """Does nothing."""


class Trainer(numpy_softmax.Trainer):
    """The whole batch at once."""

    def __init__(self, network, recipe, weights, device, seed, group):
        numpy_softmax.Trainer.__init__(self, network, recipe, weights, device, seed)
        self.workers = group["workers"]

    def step_alone(self, number):
        return self.step(number)

    def copies(self, name):
        """As many as there are workers."""
        apart = 1.0 if FAULT == "unsynchronised" else 0.0
        return [self.array(name)] + [self.array(name) + apart] * (self.workers - 1)
