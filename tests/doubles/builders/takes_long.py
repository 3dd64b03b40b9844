"""clocked.py with steps of ten seconds on its clock."""

import clocked
from clocked import SUPPORTS, configure, threads, versions

__all__ = ["SUPPORTS", "Trainer", "configure", "threads", "versions"]


class Trainer(clocked.Trainer):
    step_seconds = 10.0
