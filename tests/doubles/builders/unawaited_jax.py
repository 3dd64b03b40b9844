"""JAX whose phases of a step are not waited for: each call returns while its program is being computed."""

from dlworker.frameworks.jax import SUPPORTS, Trainer, configure, set_execution, threads, versions
from dlworker.frameworks.jax import breakdown as real

__all__ = ["SUPPORTS", "Trainer", "breakdown", "configure", "set_execution", "threads", "versions"]


def breakdown(trainer):
    return Phases(trainer)


class Phases(real.Phases):
    def wait(self, arrays):
        pass
