"""JAX's own profiler."""

import jax

from dlworker.profiling import processor_only
from dlworker.xla_trace import operator_seconds


def profile(run, trainer, device):
    """{operator: seconds} of what ``run`` does."""
    processor_only("JAX", device)
    return operator_seconds(run, jax.profiler.trace)
