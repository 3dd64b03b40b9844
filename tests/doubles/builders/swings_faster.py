"""clocked.py, quicker than swings.py within most pairs, although the median of its runs is slower."""

import clocked
from clocked import SUPPORTS, configure, threads, versions

__all__ = ["SUPPORTS", "Trainer", "configure", "threads", "versions"]

SECONDS = {1: 0.0127, 2: 0.015, 3: 0.0035}


class Trainer(clocked.Trainer):
    def __init__(self, network, recipe, weights, device, seed):
        super().__init__(network, recipe, weights, device, seed)
        self.step_seconds = SECONDS[seed]
