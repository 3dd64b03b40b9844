"""PyTorch, whose workers exchange gradients with the fault that FAULT in the environment names."""

from dlworker.frameworks.pytorch import SUPPORTS, Trainer, configure, threads, versions

__all__ = ["SUPPORTS", "Trainer", "configure", "threads", "versions"]
