"""The distributed KVStore, without hybridize()."""

from dlworker.frameworks.mxnet import imperative, parallel
from dlworker.frameworks.mxnet.parallel import EXACT, EXCHANGES, OF_EACH, join, leave

__all__ = ["EXACT", "EXCHANGES", "OF_EACH", "Trainer", "join", "leave"]


class Trainer(parallel.Trainer, imperative.Trainer):
    """The same blocks, run imperatively, in one of several workers."""
