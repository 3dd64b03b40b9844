"""leaves_a_child.py, killed in its first step."""

import os
import signal

import leaves_a_child
from leaves_a_child import SUPPORTS, configure, threads, versions

__all__ = ["SUPPORTS", "Trainer", "configure", "threads", "versions"]


class Trainer(leaves_a_child.Trainer):
    def step(self, number):
        os.kill(os.getpid(), signal.SIGKILL)
