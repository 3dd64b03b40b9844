"""Which parts of a network have 16 bits in mixed precision."""

import jax.numpy as jnp

# The type of the operands and outputs of layers.
MIXED = {"bfloat16": jnp.bfloat16}


def widened(x):
    """x in float32 if it has 16 bits."""
    return x.astype(jnp.promote_types(x.dtype, jnp.float32))


def in_float32(operation):
    """The same layer in float32, for operations that need more than 16 bits: squares, logarithms, long sums."""

    def call(layer, parameters, x, key, training):
        return operation(layer, parameters, widened(x), key, training).astype(x.dtype)

    return call


def rounded(x, dtype):
    return x.astype(dtype) if dtype and jnp.issubdtype(x.dtype, jnp.floating) else x


def multiplied(kind, parameters, dtype):
    """Arrays with more than one axis in ``dtype``; rows of an embedding and positions are rounded only after use.

    So the gradients of a row are summed in float32.
    """
    if kind in ("embedding", "positions"):
        return parameters
    return {role: rounded(array, dtype) if array.ndim > 1 else array for role, array in parameters.items()}
