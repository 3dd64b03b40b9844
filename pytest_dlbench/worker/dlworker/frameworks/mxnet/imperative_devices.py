"""The KVStore in one process, without hybridize()."""

from dlworker.frameworks.mxnet import devices, imperative
from dlworker.frameworks.mxnet.devices import EXACT, EXCHANGES, OF_EACH, join, leave

__all__ = ["EXACT", "EXCHANGES", "OF_EACH", "Trainer", "join", "leave"]


class Trainer(devices.Trainer, imperative.Trainer):
    """The same blocks, run imperatively, on several devices."""
