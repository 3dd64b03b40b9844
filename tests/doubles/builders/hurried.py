"""paced.py at twice its speed."""

import paced
from paced import configure, versions

__all__ = ["Trainer", "configure", "versions"]


class Trainer(paced.Trainer):
    step_seconds = paced.Trainer.step_seconds / 2
