"""PyTorch, which accepts a library and computes with its default."""

from dlworker.frameworks import pytorch
from dlworker.frameworks.pytorch import SUPPORTS, Trainer, configure, threads, versions

__all__ = ["SUPPORTS", "Trainer", "configure", "set_execution", "threads", "versions"]


def set_execution(execution, device):
    pytorch.set_execution([name for name in execution if not name.startswith("library=")], device)
