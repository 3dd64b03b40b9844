"""Checkpoints of TensorFlow 2: the variables of model and optimiser, by tf.train.Checkpoint."""

import os

import tensorflow as tf

MECHANISM = "tf.train.Checkpoint"


def save(trainer, folder):
    """Write everything on which later steps depend. Random numbers are drawn from the seed and a step's number."""
    _checkpoint(trainer).write(_prefix(folder))


def restore(trainer, folder):
    """Read it into a Trainer of the same network and recipe."""
    _checkpoint(trainer).read(_prefix(folder)).assert_consumed()


def _checkpoint(trainer):
    return tf.train.Checkpoint(model=list(trainer.model.variables), optimizer=list(trainer.optimizer.variables))


def _prefix(folder):
    return os.path.join(folder, "checkpoint")
