"""What can be wrong with the exchange of a framework's workers."""

import os
import signal
from importlib import import_module

import numpy as np
from dlworker.meeting import parallel_of

parallel = parallel_of(import_module(os.environ["OF"]))
join, leave = parallel.join, parallel.leave

FAULT = os.environ["FAULT"]
FAULTY_STEP = 5


class Trainer(parallel.Trainer):
    def __init__(self, network, recipe, weights, device, seed, group):
        if FAULT in ("summed", "broadcast"):
            framework = os.environ["OF"].rpartition(".")[2]
            import_module("faulty_workers.%s_%s" % (FAULT, framework)).install(parallel, group)
        parallel.Trainer.__init__(self, network, recipe, weights, device, seed, group)
        self.group, self.exchanged = group, True

    def load(self, inputs, labels, order, rates=None):
        if FAULT == "one part":
            order = np.load(os.path.join(self.group["folder"], "order1.npy"))
        parallel.Trainer.load(self, inputs, labels, order, rates)

    def step(self, number):
        if FAULT == "unsynchronised" and number == FAULTY_STEP and self.exchanged:
            # Every worker keeps its own gradients in one step, which may be taken by this method.
            self.exchanged = False
            return self.step_alone(number)
        if FAULT == "dies" and number == FAULTY_STEP and self.group["rank"] == 1:
            os.kill(os.getpid(), signal.SIGKILL)
        return parallel.Trainer.step(self, number)
