"""The NumPy double, with a function for the exit and a thread that outlasts the last request: each leaves a file."""

import atexit
import os
import threading
from time import sleep

from numpy_softmax import SUPPORTS, Trainer, configure, threads, versions

__all__ = ["SUPPORTS", "Trainer", "configure", "threads", "versions"]


def leave(name):
    """Leave a file of that name in the home folder."""
    sleep(0.3)
    open(os.path.join(os.environ["HOME"], name), "w").close()


atexit.register(leave, "by a function for the exit")
threading.Thread(target=lambda: (sleep(0.3), leave("by a thread"))).start()
