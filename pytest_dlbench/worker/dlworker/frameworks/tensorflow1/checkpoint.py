"""Checkpoints of TensorFlow 1: the global variables of the session, by tf.train.Saver."""

import os

import tensorflow as tf

MECHANISM = "tf.train.Saver"
NOT_KEPT = ("random numbers",)


def save(trainer, folder):
    """Write everything on which later steps depend, except the state of the random numbers."""
    _saver(trainer).save(trainer.session, _prefix(folder), write_meta_graph=False)


def restore(trainer, folder):
    """Read it into a Trainer of the same network and recipe."""
    _saver(trainer).restore(trainer.session, _prefix(folder))


def _saver(trainer):
    # The examples are in none of the graph's collections, and so not saved.
    with trainer.session.graph.as_default():
        return tf.train.Saver()


def _prefix(folder):
    return os.path.join(folder, "variables")
