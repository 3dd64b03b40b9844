"""What JAX reports of a step: the instructions of the program that XLA compiled, its memory, and all compilations."""

import jax  # noqa: F401 - for xla_counts

from dlworker import xla_counts
from dlworker.xla_counts import compiled

__all__ = ["compiled", "count"]


def count(run, trainer, device):
    """{name: number} of the compiled step; nothing has to run for it."""
    return xla_counts.count({"jit_%s" % trainer._step.__name__})
