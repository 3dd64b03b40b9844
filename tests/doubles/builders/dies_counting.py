"""clocked.py with a profiler that ends the process."""

import os
import signal

from clocked import SUPPORTS, Trainer, configure, threads, versions

__all__ = ["SUPPORTS", "Trainer", "configure", "count", "threads", "versions"]


def count(run, trainer, device):
    os.kill(os.getpid(), signal.SIGKILL)
