"""Mixed precision in tinygrad: what layers round, what they do not, and a step with a scaled loss."""

import os
import subprocess

from tinygrad import Tensor, dtypes
from tinygrad.dtype import least_upper_dtype

from dlworker.protocol import RequestError

MIXED = {"bfloat16": dtypes.bfloat16, "float16": dtypes.float16}


def rounded(weight, x):
    """A weight in the type of its input; None if a layer has none."""
    return None if weight is None else weight.cast(x.dtype)


def widened(compute):
    """Compute in float32 or wider and return the type of the input, for functions that lose too much in 16 bits."""
    return lambda x: compute(x.cast(least_upper_dtype(x.dtype, dtypes.float32))).cast(x.dtype)


def refuse_rough_erf(layers):
    """Raise RequestError for the exact GELU in float64: tinygrad's erf is a polynomial for float32."""
    if any(layer["kind"] == "gelu" for layer in layers):
        raise RequestError("unsupported", "gelu in float64: tinygrad's erf is accurate to 1.5e-7")


def refuse_without_bfloat16():
    """Raise RequestError if clang, which compiles the CPU kernels, is too old for C's bfloat16 type."""
    # As tinygrad itself calls the compiler.
    command = [os.environ.get("CC", "clang"), "-c", "-x", "c", "--target=x86_64-none-unknown-elf", "-", "-o", "-"]
    program = b"__bf16 rounded(float wide) { return (__bf16)wide; }"
    try:
        subprocess.run(command, input=program, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
    except (OSError, subprocess.CalledProcessError):
        raise RequestError("unsupported", "tinygrad's %s cannot compile bfloat16; a newer version may" % command[0])


def scaled_step(gradients_of, update, scale, *call):
    """The loss of a step, which updates nothing if its gradients overflow."""
    loss, are_finite, *gradients = gradients_of(*call[:1], Tensor([scale.value], dtype="float32").realize())
    if scale.allows(are_finite.item()):
        update(gradients, *call[1:])
    return loss
