"""Checkpoints of CNTK: model and learner, by Trainer.save_checkpoint, for its own learners."""

import os

from dlworker.frameworks.cntk.optimizers import OwnLearner
from dlworker.protocol import RequestError

MECHANISM = "Trainer.save_checkpoint"
NOT_KEPT = ("random numbers",)


def save(trainer, folder):
    """Write everything on which later steps depend, except the state of the random numbers."""
    if isinstance(trainer.learner, OwnLearner):
        message = "CNTK's checkpoints lack what a learner keeps that is written in its operations"
        raise RequestError("unsupported", message)
    trainer.trainer.save_checkpoint(_path(folder))


def restore(trainer, folder):
    """Read it into a Trainer of the same network and recipe."""
    trainer.trainer.restore_from_checkpoint(_path(folder))


def _path(folder):
    return os.path.join(folder, "checkpoint.dnn")
