"""MLX has no profiler to ask."""

from dlworker.protocol import RequestError


def profile(run, trainer, device):
    """Refuse, with the reason."""
    raise RequestError("unsupported", "MLX has no profiler: it traces a Mac's GPU for Xcode, and no CPU")
