"""MirroredStrategy between two programs of XLA on each logical device."""

from dlworker.frameworks.tensorflow import devices, xla_parallel
from dlworker.frameworks.tensorflow.devices import OF_EACH, join, leave

__all__ = ["OF_EACH", "Trainer", "join", "leave"]


class Trainer(devices.Trainer, xla_parallel.Trainer):
    """The compiled network on several devices."""
