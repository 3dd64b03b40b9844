"""The kernels that Paddle launches in a step, by its own profiler."""

from dlworker.frameworks.paddle.profile import launches
from dlworker.profiling import processor_only


def count(run, trainer, device):
    """{name: number} of what ``run`` does."""
    processor_only("Paddle", device)
    found = launches(run)
    reason = "Paddle reports peaks of allocated memory only"
    return {"operations": sum(map(len, found)), "allocated_bytes": reason}
