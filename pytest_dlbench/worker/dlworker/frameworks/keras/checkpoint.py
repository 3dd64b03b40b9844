"""Checkpoints of Keras 3: the weights of a compiled model, with those of its optimiser and of its random numbers."""

import os

import keras

MECHANISM = "Model.save_weights"


def save(trainer, folder):
    """Write everything on which later steps depend."""
    trainer.model.save_weights(_path(folder))


def restore(trainer, folder):
    """Read it into a Trainer of the same network and recipe."""
    with keras.device(trainer.device):
        # Otherwise Keras skips the weights that an optimiser does not have before its first step.
        trainer.model.optimizer.build(trainer.model.trainable_variables)
        trainer.model.load_weights(_path(folder))


def _path(folder):
    return os.path.join(folder, "checkpoint.weights.h5")
