"""Convolutions and pooling of LeNet on one thread of a CPU, as JAX 0.10.1 and 0.10.2 compile them.

Prints the time of each, the tenth percentile of 200 calls. Run it with either release, on one core:
taskset -c 1 python jax_convolutions.py
"""

import time

import jax
import jax.numpy as jnp
from jax import lax


def convolved(images, weights):
    """A convolution without padding."""
    layout = ("NHWC", "HWIO", "NHWC")
    return lax.conv_general_dilated(images, weights, (1, 1), "VALID", dimension_numbers=layout)


def pooled(images):
    """The largest of each 2x2 places."""
    return lax.reduce_window(images, -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")


def normal(*shape):
    """Normally distributed values."""
    return jax.random.normal(jax.random.key(0), shape)


# The gradient of a convolution's weights is a convolution whose window is as large as the output.
OPERATIONS = {
    "convolution 5x5, 20 channels to 50": (convolved, normal(32, 12, 12, 20), normal(5, 5, 20, 50)),
    "gradient of its weights, window 8x8": (convolved, normal(20, 12, 12, 32), normal(8, 8, 32, 50)),
    "gradient of the first weights, window 24x24": (convolved, normal(1, 28, 28, 32), normal(24, 24, 32, 20)),
    "max pooling 2x2": (pooled, normal(32, 24, 24, 20)),
    "matrix product 32x800x500": (jnp.matmul, normal(32, 800), normal(800, 500)),
}
print(f"JAX {jax.__version__}")
for name, (function, *arguments) in OPERATIONS.items():
    compiled = jax.jit(function)
    jax.block_until_ready(compiled(*arguments))
    seconds = []
    for _ in range(200):
        began = time.perf_counter()
        jax.block_until_ready(compiled(*arguments))
        seconds.append(time.perf_counter() - began)
    print(f"{name}: {1e6 * sorted(seconds)[20]:.0f} µs")
