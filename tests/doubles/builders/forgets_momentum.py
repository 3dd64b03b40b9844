"""The NumPy double whose checkpoints have the velocities, which it does not read."""

import saves
from saves import MECHANISM, SUPPORTS, Trainer, configure, save, threads, versions

__all__ = ["MECHANISM", "SUPPORTS", "Trainer", "configure", "restore", "save", "threads", "versions"]


def restore(trainer, folder):
    saves.read(trainer, folder, "arrays")
