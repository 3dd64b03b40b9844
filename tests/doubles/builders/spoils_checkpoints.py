"""The NumPy double whose checkpoints are cut short after they were written."""

import os

import saves
from saves import MECHANISM, SUPPORTS, Trainer, configure, restore, threads, versions

__all__ = ["MECHANISM", "SUPPORTS", "Trainer", "configure", "restore", "save", "threads", "versions"]


def save(trainer, folder):
    saves.save(trainer, folder)
    os.truncate(os.path.join(folder, "velocities.npz"), 100)
