"""Settings of execution in JAX."""

import jax

from dlworker import xla_flags

# The builder's images are channels last, whatever is set.
EXECUTION = ("autotune", "channels_last", "cuda_graphs", "deterministic", "tf32")


def set_execution(execution, device):
    """Turn these settings on for the process, and the others off: before JAX looks for devices."""
    if device != "cpu":
        xla_flags.set_execution(execution)


def round_products(recipe):
    """Choose how GPUs may round the factors of float32 products; products in 16 bits stay as they are."""
    if recipe["precision"] not in ("bfloat16", "float16"):
        jax.config.update("jax_default_matmul_precision", "tensorfloat32" if recipe.get("tf32") else "float32")
