"""clocked.py, whose runs differ by seed, as on a machine whose speed changes all the time."""

import clocked
from clocked import SUPPORTS, configure, threads, versions

__all__ = ["SUPPORTS", "Trainer", "configure", "threads", "versions"]

SECONDS = {1: 0.0109, 2: 0.020, 3: 0.005}


class Trainer(clocked.Trainer):
    def __init__(self, network, recipe, weights, device, seed):
        super().__init__(network, recipe, weights, device, seed)
        self.step_seconds = SECONDS[seed]
