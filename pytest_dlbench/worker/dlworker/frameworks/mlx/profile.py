"""MLX has no profiler."""

from dlworker.protocol import RequestError


def profile(run, trainer, device):
    """Refuse, with the reason."""
    raise RequestError("unsupported", "MLX has no profiler: it can only trace a Mac's GPU for Xcode, not a CPU")
