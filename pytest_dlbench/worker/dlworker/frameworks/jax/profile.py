"""JAX's own profiler."""

import jax

from dlworker.xla_trace import operator_seconds


def profile(run, trainer, device):
    """{operator: seconds} of what ``run`` does."""
    return operator_seconds(run, jax.profiler.trace)
