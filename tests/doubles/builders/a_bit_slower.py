"""clocked.py with steps that take 4.6 % longer: at a tolerance of 5 %, the first pairs do not decide that."""

import clocked
from clocked import SUPPORTS, configure, threads, versions

__all__ = ["SUPPORTS", "Trainer", "configure", "threads", "versions"]


class Trainer(clocked.Trainer):
    step_seconds = 1.046 * clocked.Trainer.step_seconds
