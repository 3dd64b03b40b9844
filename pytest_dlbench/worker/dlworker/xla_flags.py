"""Settings of execution of XLA and JAX, for every builder that computes with them."""

import os


def set_execution(execution):
    """Add flags for GPUs to those that the worker started with; for a flag that is given twice the last one counts.

    XLA reads them when it first compiles or finds a GPU.
    """
    flags = [
        # Algorithms of convolutions and products are chosen by timing them, or by rules.
        "--xla_gpu_autotune_level=%d" % (4 if "autotune" in execution else 0),
        "--xla_gpu_deterministic_ops=%s" % ("true" if "deterministic" in execution else "false"),
    ]
    if "cuda_graphs" not in execution:
        # By default XLA launches whatever it can as graphs.
        flags.append("--xla_gpu_enable_command_buffer=")
    os.environ["XLA_FLAGS"] = " ".join([os.environ.get("XLA_FLAGS", ""), *flags]).strip()


def round_products(jax, recipe):
    """Choose how JAX may round the factors of float32 products on GPUs; products in 16 bits stay as they are."""
    if recipe["precision"] not in ("bfloat16", "float16"):
        jax.config.update("jax_default_matmul_precision", "tensorfloat32" if recipe.get("tf32") else "float32")
