"""Settings of execution in tinygrad."""

from tinygrad.helpers import ALLOW_TF32, JIT

EXECUTION = ("cuda_graphs", "tf32")
# The values of JIT: captured kernels are launched as graphs, or one by one.
AS_GRAPHS, ONE_BY_ONE = 1, 2


def set_execution(execution, device):
    """Turn these settings on for the process, and the others off."""
    if device != "cpu":
        JIT.value = AS_GRAPHS if "cuda_graphs" in execution else ONE_BY_ONE
        ALLOW_TF32.value = int("tf32" in execution)
