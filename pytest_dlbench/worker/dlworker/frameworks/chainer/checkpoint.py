"""Checkpoints of Chainer: model and optimiser, by chainer.serializers.save_npz."""

import os

import numpy as np
from chainer import serializers

from dlworker.protocol import RequestError

MECHANISM = "serializers.save_npz"
NOT_KEPT = ("random numbers",)


def save(trainer, folder):
    """Write everything on which later steps depend, except the state of the random numbers."""
    if trainer.dtype == np.float16:
        message = "Chainer's serializers lack the loss scale of float16, and the weights in 32 bits"
        raise RequestError("unsupported", message)
    for name in ("model", "optimizer"):
        serializers.save_npz(_path(folder, name), getattr(trainer, name))


def restore(trainer, folder):
    """Read it into a Trainer of the same network and recipe."""
    for name in ("model", "optimizer"):
        serializers.load_npz(_path(folder, name), getattr(trainer, name))


def _path(folder, name):
    return os.path.join(folder, "%s.npz" % name)
