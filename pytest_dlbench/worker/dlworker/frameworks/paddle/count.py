"""The kernels that Paddle launches in a step, by its own profiler."""

from dlworker.frameworks.paddle.profile import launches


def count(run, trainer, device):
    """{name: number} of what ``run`` does."""
    found = launches(run, device)
    reason = "Paddle reports peaks of allocated memory only"
    return {"operations": sum(map(len, found)), "allocated_bytes": reason}
