"""The same faults, of workers that are devices of one process."""

from faulty_workers.parallel import Trainer, join, leave

__all__ = ["Trainer", "join", "leave"]
