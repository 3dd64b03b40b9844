"""Checkpoints of Theano, and of Lasagne: the shared variables that a step changes, by numpy.savez."""

import os

import numpy as np

MECHANISM = "numpy.savez"


def save(trainer, folder):
    """Write everything on which later steps depend, the states of random numbers included."""
    arrays = [variable.get_value(borrow=True) for variable in _variables(trainer)]
    np.savez(_path(folder), *arrays)


def restore(trainer, folder):
    """Read it into a Trainer of the same network and recipe."""
    with np.load(_path(folder), allow_pickle=False) as file:
        for place, variable in enumerate(_variables(trainer)):
            variable.set_value(file["arr_%d" % place])


def _variables(trainer):
    """In the order in which the compiled step has them."""
    examples = trainer.examples
    given = (examples.inputs, examples.labels, examples.order, examples.rates)
    return [one for one in trainer._step.get_shared() if not any(one is other for other in given)]


def _path(folder):
    return os.path.join(folder, "checkpoint.npz")
