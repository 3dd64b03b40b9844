"""PyTorch's builder whose checkpoints restore the model and not the optimiser."""

import os

import torch
from dlworker.frameworks.pytorch import SUPPORTS, Trainer, configure, set_execution, threads, versions
from dlworker.frameworks.pytorch.checkpoint import MECHANISM, save

__all__ = ["MECHANISM", "SUPPORTS", "Trainer", "configure", "restore", "save", "set_execution", "threads", "versions"]


def restore(trainer, folder):
    trainer.model.load_state_dict(torch.load(os.path.join(folder, "checkpoint.pt"))["model"])
