"""The kernels that TensorFlow 1 runs in a step, by its own trace."""

from dlworker.frameworks.tensorflow1.profile import kernels, traced


def count(run, trainer, device):
    """{name: number} of what ``run`` does."""
    return {"operations": len(kernels(traced(run, trainer))), "allocated_bytes": "TensorFlow 1 reports peaks only"}
