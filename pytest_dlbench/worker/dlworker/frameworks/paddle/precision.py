"""Paddle's own mixed precision: auto_cast around the network, and a scaled loss in float16.

On a GPU the network runs in dynamic mode. On a CPU auto_cast only affects compiled programs, whose products and
convolutions oneDNN computes in bfloat16: there paddle.jit.to_static compiles the network into one program.
"""

import paddle
from paddle import nn

from dlworker.protocol import RequestError

# Whether the device supports each precision.
MIXED = {"bfloat16": paddle.amp.is_bfloat16_supported, "float16": paddle.amp.is_float16_supported}


class AutoCast(nn.Layer):
    """A network computed in 16 bits, with float32 outputs."""

    def __init__(self, model, precision):
        super().__init__()
        self.model, self.precision = model, precision

    def forward(self, x):
        # O1: products, convolutions and what follows in 16 bits; weights, normalisation, softmax, losses in float32.
        with paddle.amp.auto_cast(dtype=self.precision, level="O1"):
            return self.model(x).astype("float32")


def is_compiled(precision, device):
    """Whether the network is a compiled program rather than called layer by layer."""
    return precision == "bfloat16" and device == "cpu"


def mixed_precision(model, precision, device):
    """What to call instead of the model, and the loss scaler if float16 needs one."""
    if precision not in MIXED:
        return model, None
    if not MIXED[precision]():
        # auto_cast would only warn, and compute in float32.
        raise RequestError("unsupported", "Paddle has no mixed %s on this %s" % (precision, device.partition(":")[0]))
    cast = AutoCast(model, precision)
    if is_compiled(precision, device):
        return paddle.jit.to_static(cast, full_graph=True), None
    return cast, paddle.amp.GradScaler() if precision == "float16" else None
