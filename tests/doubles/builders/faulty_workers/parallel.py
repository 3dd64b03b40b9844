"""What can be wrong with the exchange of a framework's workers: what the file ``fault`` says as a network is built."""

import os
import signal
from importlib import import_module

import numpy as np

parallel = import_module(os.environ["OF_WORKERS"])
join, leave = parallel.join, parallel.leave

FAULTY_STEP = 5
# (object, attribute, what it was) of what is planted in the framework.
PLANTED = []


def plant(owner, name, faulty):
    """Replace an attribute until the next network is built."""
    PLANTED.append((owner, name, getattr(owner, name)))
    setattr(owner, name, faulty)


def mend():
    """Undo what was planted."""
    while PLANTED:
        setattr(*PLANTED.pop())


class Trainer(parallel.Trainer):
    def __init__(self, network, recipe, weights, device, seed, group):
        mend()
        with open(os.path.join(group["folder"], "fault"), encoding="utf-8") as planted:
            self.fault = planted.read()
        if self.fault in ("summed", "broadcast"):
            framework = os.environ["OF"].rpartition(".")[2]
            import_module("faulty_workers.%s_%s" % (self.fault, framework)).install(parallel, group, plant)
        parallel.Trainer.__init__(self, network, recipe, weights, device, seed, group)
        self.group, self.exchanged = group, True

    def load(self, inputs, labels, order, rates=None):
        if self.fault == "one part":
            order = self._first_part(order)
        parallel.Trainer.load(self, inputs, labels, order, rates)

    def _first_part(self, order):
        """The part of every batch that the first worker has, for each worker of this process."""
        # The file of the first worker is next to this one's.
        first = np.load(os.path.join(os.path.dirname(order.filename), "order1.npy"))
        is_whole = "ports" not in self.group
        return np.tile(np.split(first, 2, axis=1)[0], (1, 2)) if is_whole else first

    def step(self, number):
        if self.fault == "unsynchronised" and number == FAULTY_STEP and self.exchanged:
            # Every worker keeps its own gradients in one step, which may be taken by this method.
            self.exchanged = False
            return self.step_alone(number)
        if self.fault == "dies" and number == FAULTY_STEP and self.group["rank"] == 1:
            os.kill(os.getpid(), signal.SIGKILL)
        return parallel.Trainer.step(self, number)
