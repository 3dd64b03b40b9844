"""What of a network is of 16 bits in mixed precision, and what is not."""

import jax.numpy as jnp

# The types of what layers multiply and hand on.
MIXED = {"bfloat16": jnp.bfloat16}


def widened(x):
    """x in float32, where it has 16 bits."""
    return x.astype(jnp.promote_types(x.dtype, jnp.float32))


def in_float32(operation):
    """The same layer of what 16 bits are too few for: squares, logarithms, long sums."""

    def call(layer, parameters, x, key, training):
        return operation(layer, parameters, widened(x), key, training).astype(x.dtype)

    return call


def rounded(x, dtype):
    return x.astype(dtype) if dtype and jnp.issubdtype(x.dtype, jnp.floating) else x


def multiplied(kind, parameters, dtype):
    """Arrays of more than one axis in ``dtype``; rows of an embedding are rounded once they were read.

    So the gradients of one row are summed up as float32.
    """
    if kind == "embedding":
        return parameters
    return {role: rounded(array, dtype) if array.ndim > 1 else array for role, array in parameters.items()}
