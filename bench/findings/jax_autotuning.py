"""Convolutions of tartu-mnist-cnn and their gradients in float32, as JAX compiles them for a GPU.

Prints the time of each, the tenth percentile of 50 calls. Run it on a GPU twice:
XLA_FLAGS=--xla_gpu_autotune_level=0 python jax_autotuning.py, and with level 4, which is XLA's default.
"""

import time

import jax
import jax.numpy as jnp
from jax import lax

# Without this, NVIDIA's GPUs may round the factors of products.
jax.config.update("jax_default_matmul_precision", "float32")


def convolved(images, weights):
    """A convolution without padding."""
    layout = ("NHWC", "HWIO", "NHWC")
    return lax.conv_general_dilated(images, weights, (1, 1), "VALID", dimension_numbers=layout)


def gradient_of_images(images, weights, of_output):
    """The gradient of what goes into the convolution."""
    return jax.vjp(convolved, images, weights)[1](of_output)[0]


def gradient_of_weights(images, weights, of_output):
    """The gradient of the convolution's weights."""
    return jax.vjp(convolved, images, weights)[1](of_output)[1]


def normal(*shape):
    """Normally distributed values."""
    return jax.random.normal(jax.random.key(0), shape)


FIRST = (normal(128, 28, 28, 1), normal(3, 3, 1, 32))
SECOND = (normal(128, 26, 26, 32), normal(3, 3, 32, 64))
OPERATIONS = {
    "convolution 3x3, 1 channel to 32": (convolved, *FIRST),
    "gradient of its weights": (gradient_of_weights, *FIRST, normal(128, 26, 26, 32)),
    "convolution 3x3, 32 channels to 64": (convolved, *SECOND),
    "gradient of these weights": (gradient_of_weights, *SECOND, normal(128, 24, 24, 64)),
    "gradient of its images": (gradient_of_images, *SECOND, normal(128, 24, 24, 64)),
    "matrix product 128x9216x128": (jnp.matmul, normal(128, 9216), normal(9216, 128)),
}
print(f"JAX {jax.__version__} on {jax.devices()[0].device_kind}")
for name, (function, *arguments) in OPERATIONS.items():
    compiled = jax.jit(function)
    jax.block_until_ready(compiled(*arguments))
    seconds = []
    for _ in range(50):
        began = time.perf_counter()
        jax.block_until_ready(compiled(*arguments))
        seconds.append(time.perf_counter() - began)
    print(f"{name}: {1e6 * sorted(seconds)[5]:.0f} µs")
