"""Checkpoints of MXNet: Block.save_parameters, and the states of gluon.Trainer."""

import os

MECHANISM = "save_parameters, Trainer.save_states"
NOT_KEPT = ("random numbers",)


def save(trainer, folder):
    """Write everything on which later steps depend, except the state of the random numbers."""
    # While training, the blocks have the statistics of the last batch instead.
    trainer.statistics.install()
    trainer.net.save_parameters(_path(folder, "params"))
    trainer.trainer.save_states(_path(folder, "states"))


def restore(trainer, folder):
    """Read it into a Trainer of the same network and recipe."""
    trainer.net.load_parameters(_path(folder, "params"), ctx=trainer.context)
    trainer.trainer.load_states(_path(folder, "states"))
    trainer.statistics.read()


def _path(folder, kind):
    return os.path.join(folder, "checkpoint.%s" % kind)
