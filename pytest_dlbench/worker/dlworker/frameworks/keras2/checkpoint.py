"""Checkpoints of Keras 2 by numpy.savez: what get_weights returns of model and optimiser.

Model.save also writes the optimiser, but load_model would have to know how each layer and loss here is made.
"""

import os

import keras
import numpy as np

from dlworker.protocol import RequestError

BACKEND = keras.backend.backend()
MECHANISM = "get_weights, numpy.savez"
NOT_KEPT = ("random numbers",)


def save(trainer, folder):
    """Write everything on which later steps depend, except the state of the random numbers."""
    if BACKEND == "cntk" and any(layer["kind"] == "batch_norm" for layer in trainer.network["layers"]):
        message = "on CNTK, the running statistics of batch normalisation are not among the weights that Keras saves"
        raise RequestError("unsupported", message)
    for name, owner in _owners(trainer):
        np.savez(_path(folder, name), *owner.get_weights())


def restore(trainer, folder):
    """Read it into a Trainer of the same network and recipe."""
    # Keras creates the optimiser's variables with the function of a step.
    trainer.model._make_train_function()
    for name, owner in _owners(trainer):
        with np.load(_path(folder, name), allow_pickle=False) as file:
            owner.set_weights([file["arr_%d" % place] for place in range(len(file.files))])


def _owners(trainer):
    return [("model", trainer.model), ("optimizer", trainer.model.optimizer)]


def _path(folder, name):
    return os.path.join(folder, "%s.npz" % name)
