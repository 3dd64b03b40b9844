"""Mixed precision in tinygrad: what layers round, what they do not, and a step whose loss is scaled."""

import os
import subprocess

from tinygrad import Tensor, dtypes
from tinygrad.dtype import least_upper_dtype

from dlworker.protocol import RequestError

MIXED = {"bfloat16": dtypes.bfloat16, "float16": dtypes.float16}


def rounded(weight, x):
    """A weight in the type of what it is multiplied with; None where a layer has none."""
    return None if weight is None else weight.cast(x.dtype)


def widened(compute):
    """A function that computes in float32 or more and gives the type that it is given: it loses too much in 16 bits."""
    return lambda x: compute(x.cast(least_upper_dtype(x.dtype, dtypes.float32))).cast(x.dtype)


def refuse_without_bfloat16():
    """Kernels for the CPU are C, whose type for bfloat16 old versions of clang have not."""
    # As tinygrad itself calls it.
    command = [os.environ.get("CC", "clang"), "-c", "-x", "c", "--target=x86_64-none-unknown-elf", "-", "-o", "-"]
    program = b"__bf16 rounded(float wide) { return (__bf16)wide; }"
    try:
        subprocess.run(command, input=program, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
    except (OSError, subprocess.CalledProcessError):
        raise RequestError("unsupported", "tinygrad's %s compiles no bfloat16; a newer one may" % command[0])


def scaled_step(gradients_of, update, scale, *call):
    """The loss of a step, which updates nothing if its gradients are too large for the type."""
    loss, are_finite, *gradients = gradients_of(*call[:1], Tensor([scale.value], dtype="float32").realize())
    if scale.allows(are_finite.item()):
        update(gradients, *call[1:])
    return loss
