"""Checkpoints of MLX: the arrays of model and optimiser, by mx.save_safetensors.

MLX can show the state of its random numbers, but not set it.
"""

import os

import mlx.core as mx
from mlx.utils import tree_flatten, tree_unflatten

MECHANISM = "mx.save_safetensors"
NOT_KEPT = ("random numbers",)


def save(trainer, folder):
    """Write everything on which later steps depend, except the state of the random numbers."""
    trees = {"model": trainer.model.parameters(), "optimizer": trainer.optimizer.state}
    if trainer.scale:
        trees["scale"] = {"value": mx.array(trainer.scale.value), "good_steps": mx.array(trainer.scale.good_steps)}
    mx.save_safetensors(_path(folder), dict(tree_flatten(trees)))


def restore(trainer, folder):
    """Read it into a Trainer of the same network and recipe."""
    trees = tree_unflatten(list(mx.load(_path(folder)).items()))
    trainer.model.update(trees["model"])
    _fill(trainer.optimizer.state, trees["optimizer"])
    if trainer.scale:
        trainer.scale.value = trees["scale"]["value"].item()
        trainer.scale.good_steps = trees["scale"]["good_steps"].item()
    mx.eval(trainer.model.state, trainer.optimizer.state)


def _fill(into, tree):
    """Replace the arrays of a tree in place: a compiled step has the tree itself as its input."""
    for key, value in tree.items() if isinstance(tree, dict) else enumerate(tree):
        if isinstance(value, mx.array):
            into[key] = value
        else:
            _fill(into[key], value)


def _path(folder):
    return os.path.join(folder, "checkpoint.safetensors")
