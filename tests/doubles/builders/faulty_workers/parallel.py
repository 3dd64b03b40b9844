"""DistributedDataParallel, and what can be wrong with it."""

import os

import numpy as np
from dlworker.frameworks.pytorch import parallel
from dlworker.frameworks.pytorch.parallel import join, leave
from torch import distributed

__all__ = ["Trainer", "join", "leave"]

FAULT = os.environ["FAULT"]
FAULTY_STEP = 5


class Trainer(parallel.Trainer):
    def __init__(self, network, recipe, weights, device, seed, group):
        parallel.Trainer.__init__(self, network, recipe, weights, device, seed, group)
        self.group = group
        if FAULT == "summed":
            self.forward.register_comm_hook(None, _summed)

    def load(self, inputs, labels, order, rates=None):
        if FAULT == "one part":
            order = np.load(os.path.join(self.group["folder"], "order1.npy"))
        parallel.Trainer.load(self, inputs, labels, order, rates)

    def step(self, number):
        if FAULT == "unsynchronised" and number == FAULTY_STEP:
            # Every worker keeps its own gradients in one step.
            with self.forward.no_sync():
                return parallel.Trainer.step(self, number)
        return parallel.Trainer.step(self, number)


def _summed(_, bucket):
    future = distributed.all_reduce(bucket.buffer(), async_op=True).get_future()
    return future.then(lambda done: done.value()[0])
