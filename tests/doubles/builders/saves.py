"""The NumPy double with checkpoints: its matrices and velocities."""

import os

import numpy as np

from numpy_softmax import SUPPORTS, Trainer, configure, threads, versions

__all__ = ["MECHANISM", "SUPPORTS", "Trainer", "configure", "restore", "save", "threads", "versions"]

MECHANISM = "numpy.savez"


def save(trainer, folder):
    for name in ("arrays", "velocities"):
        np.savez(os.path.join(folder, name + ".npz"), **getattr(trainer, name))


def restore(trainer, folder):
    for name in ("arrays", "velocities"):
        read(trainer, folder, name)


def read(trainer, folder, name):
    with np.load(os.path.join(folder, name + ".npz")) as file:
        for key, array in getattr(trainer, name).items():
            array[...] = file[key]
