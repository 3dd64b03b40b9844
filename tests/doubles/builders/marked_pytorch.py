"""PyTorch on a processor, which marks its steps as on a GPU; events are numbers of milliseconds."""

from itertools import count
from types import SimpleNamespace

import torch
from dlworker.frameworks import pytorch
from dlworker.frameworks.pytorch import SUPPORTS, configure, threads, versions

__all__ = ["SUPPORTS", "Trainer", "configure", "threads", "versions"]

ticks = count(0, 2)


class Event:
    def __init__(self, enable_timing=False):
        # Without timing, PyTorch's events have no time.
        assert enable_timing
        self.milliseconds = None

    def record(self):
        self.milliseconds = next(ticks)

    def elapsed_time(self, end):
        return float(end.milliseconds - self.milliseconds)


torch.cuda.Event = Event


class Trainer(pytorch.Trainer):
    def mark(self):
        own, self.device = self.device, SimpleNamespace(type="cuda")
        try:
            return super().mark()
        finally:
            self.device = own
