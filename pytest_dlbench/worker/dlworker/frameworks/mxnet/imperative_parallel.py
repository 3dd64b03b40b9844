"""The distributed KVStore, without hybridize()."""

from dlworker.frameworks.mxnet import imperative, parallel
from dlworker.frameworks.mxnet.parallel import EXACT, EXCHANGES, join, leave

__all__ = ["EXACT", "EXCHANGES", "Trainer", "join", "leave"]


class Trainer(parallel.Trainer, imperative.Trainer):
    """The same blocks, run imperatively, in one of several workers."""
