"""MLX that takes the processor for a GPU, so that it reports what its allocator held."""

from dlworker.frameworks import mlx as builder
from dlworker.frameworks.mlx import SUPPORTS, Trainer, configure, threads, versions

__all__ = ["SUPPORTS", "Trainer", "configure", "threads", "versions"]

builder.is_processor = lambda device: False
