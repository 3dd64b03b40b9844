"""Checkpoints of tinygrad: the tensors of model and optimiser, by nn.state.safe_save."""

import os

import numpy as np
from tinygrad import Tensor, nn

MECHANISM = "nn.state.safe_save"
NOT_KEPT = ("random numbers",)


def save(trainer, folder):
    """Write everything on which later steps depend, except the state of the random numbers."""
    state = _state(trainer)
    if trainer.scale:
        state["scale"] = Tensor(np.array([trainer.scale.value, trainer.scale.good_steps], dtype=np.float32))
    nn.state.safe_save(state, _path(folder))


def restore(trainer, folder):
    """Read it into a Trainer of the same network and recipe."""
    found = nn.state.safe_load(_path(folder))
    for name, tensor in _state(trainer).items():
        # Into the same buffer, which a captured step reads.
        tensor.assign(found[name].to(tensor.device)).realize()
    if trainer.scale:
        value, good_steps = found["scale"].to("CPU").numpy()
        trainer.scale.value, trainer.scale.good_steps = float(value), int(good_steps)


def _state(trainer):
    """Every tensor by name, once: the optimiser has the model's, too."""
    state = nn.state.get_state_dict({"model": trainer.model, "optimizer": trainer.optimizer})
    names = {}
    for name, tensor in state.items():
        names.setdefault(id(tensor), name)
    return {name: state[name] for name in names.values()}


def _path(folder):
    return os.path.join(folder, "checkpoint.safetensors")
