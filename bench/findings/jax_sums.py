"""Sums of bfloat16 in a compiled function on a CPU.

Prints the sum of 102,400 ones, and the gradient of a bias that was added as many times.
"""

import jax
import jax.numpy as jnp
from jax import lax

ONES = jnp.ones((64, 40, 40, 8), jnp.bfloat16)


def bias_added(bias, values):
    """The sum of values with a bias; its gradient is the number of places where the bias was added."""
    return (values + bias).astype(jnp.float32).sum()


gradient = jax.jit(jax.grad(bias_added))(jnp.zeros(8, jnp.bfloat16), ONES)
summed = jax.jit(lambda values: lax.reduce(values, jnp.bfloat16(0), lax.add, (0, 1, 2)))(ONES)
in_float32 = jax.jit(lambda values: values.sum((0, 1, 2), jnp.float32))(ONES)
print(f"float32: {int(in_float32[0])}")
print(f"bfloat16: {int(summed[0])}")
print(f"gradient of a bias: {int(gradient[0])}")
