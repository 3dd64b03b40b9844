"""Checkpoints of PyTorch: the state dictionaries of model and optimiser, by torch.save."""

import os

import torch

MECHANISM = "torch.save"


def save(trainer, folder):
    """Write everything on which later steps depend."""
    state = {"model": trainer.model.state_dict(), "optimizer": trainer.optimizer.state_dict()}
    state["random"] = torch.get_rng_state()
    if trainer.device.type == "cuda":
        state["random_of_gpu"] = torch.cuda.get_rng_state(trainer.device)
    if trainer.scaler:
        state["scaler"] = trainer.scaler.state_dict()
    torch.save(state, _path(folder))


def restore(trainer, folder):
    """Read it into a Trainer of the same network and recipe."""
    state = torch.load(_path(folder), map_location=trainer.device)
    trainer.model.load_state_dict(state["model"])
    trainer.optimizer.load_state_dict(state["optimizer"])
    # The states of generators are on the host, that of a GPU's, too.
    torch.set_rng_state(state["random"].cpu())
    if trainer.device.type == "cuda":
        torch.cuda.set_rng_state(state["random_of_gpu"].cpu(), trainer.device)
    if trainer.scaler:
        trainer.scaler.load_state_dict(state["scaler"])


def _path(folder):
    return os.path.join(folder, "checkpoint.pt")
