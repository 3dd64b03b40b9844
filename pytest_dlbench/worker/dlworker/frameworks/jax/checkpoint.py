"""Checkpoints of JAX, which has no format of its own: the leaves of its trees, by numpy.savez."""

import os

import jax
import numpy as np

MECHANISM = "numpy.savez"


def save(trainer, folder):
    """Write everything on which later steps depend. Random numbers are drawn from the key and a step's number."""
    leaves = jax.tree.leaves(_state(trainer))
    np.savez(_path(folder), *[np.asarray(leaf) for leaf in leaves])


def restore(trainer, folder):
    """Read it into a Trainer of the same network and recipe."""
    leaves, structure = jax.tree.flatten(_state(trainer))
    with np.load(_path(folder), allow_pickle=False) as file:
        arrays = [file["arr_%d" % place] for place in range(len(leaves))]
    state = jax.tree.unflatten(structure, jax.device_put(arrays, trainer.device))
    trainer.weights, trainer.states, trainer.slots = (state[name] for name in ("weights", "states", "slots"))
    trainer.key = jax.random.wrap_key_data(state["key"])


def _state(trainer):
    state = {name: getattr(trainer, name) for name in ("weights", "states", "slots")}
    return dict(state, key=jax.random.key_data(trainer.key))


def _path(folder):
    return os.path.join(folder, "checkpoint.npz")
