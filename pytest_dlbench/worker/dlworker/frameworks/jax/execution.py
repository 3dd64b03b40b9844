"""Settings of execution in JAX."""

from dlworker import xla_flags

# The builder's images are channels last, whatever is set.
EXECUTION = ("autotune", "channels_last", "cuda_graphs", "deterministic", "tf32")


def set_execution(execution, device):
    """Turn these settings on for the process, and the others off: before JAX looks for devices."""
    if device != "cpu":
        xla_flags.set_execution(execution)
