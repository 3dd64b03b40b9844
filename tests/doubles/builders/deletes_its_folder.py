"""clocked.py, whose training deletes the folder that the worker runs in, and then does what the variable THEN says."""

import os
import shutil
import signal  # noqa: F401 - for what the variable says

import clocked
from clocked import SUPPORTS, configure, threads, versions

__all__ = ["SUPPORTS", "Trainer", "configure", "threads", "versions"]


class Trainer(clocked.Trainer):
    def load(self, inputs, labels, order, rates=None):
        super().load(inputs, labels, order, rates)
        folder = os.getcwd()
        print("deleting my own folder")
        shutil.rmtree(folder)
        exec(os.environ["THEN"], globals(), {"folder": folder})
