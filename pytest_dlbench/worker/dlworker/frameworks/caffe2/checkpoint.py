"""Checkpoints of Caffe2: the blobs that its initialisation net creates, by the operators Save and Load."""

import os

import numpy as np
from caffe2.python import core, workspace

MECHANISM = "Save (minidb)"
NOT_KEPT = ("random numbers",)
TAKEN = "steps_taken"


def save(trainer, folder):
    """Write everything on which later steps depend, except the state of the random numbers."""
    workspace.FeedBlob(TAKEN, np.array([trainer.taken], dtype=np.int64))
    _run("Save", _blobs(trainer), [], folder)


def restore(trainer, folder):
    """Read it into a Trainer of the same network and recipe."""
    _run("Load", [], _blobs(trainer), folder)
    trainer.taken = int(workspace.FetchBlob(TAKEN)[0])


def _blobs(trainer):
    """Parameters, statistics and the optimiser's slots, but no locks."""
    made = [str(name) for operator in trainer.model.param_init_net.Proto().op for name in operator.output]
    return [name for name in dict.fromkeys(made) if isinstance(workspace.FetchBlob(name), np.ndarray)] + [TAKEN]


def _run(kind, inputs, outputs, folder):
    place = {"absolute_path": 1, "db": os.path.join(folder, "checkpoint.minidb"), "db_type": "minidb"}
    workspace.RunOperatorOnce(core.CreateOperator(kind, inputs, outputs, **place))
