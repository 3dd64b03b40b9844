"""DistributedDataParallel, compiled: graphs are cut where its buckets end, so that the exchange overlaps the rest."""

from dlworker.frameworks.pytorch import compile as compiling
from dlworker.frameworks.pytorch import parallel
from dlworker.frameworks.pytorch.parallel import OF_EACH, join, leave

__all__ = ["OF_EACH", "Trainer", "join", "leave"]


class Trainer(parallel.Trainer, compiling.Trainer):
    """The compiled network in one of several workers."""
