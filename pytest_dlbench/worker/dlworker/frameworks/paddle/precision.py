"""Paddle's own mixed precision: auto_cast around the network, and a scaled loss in float16.

On a GPU it is that of dynamic mode. On a CPU auto_cast has an effect in compiled programs alone, whose products and
convolutions are oneDNN's in bfloat16: so there the network is one program, by paddle.jit.to_static.
"""

import paddle
from paddle import nn

from dlworker.protocol import RequestError

# Whether the device has it.
MIXED = {"bfloat16": paddle.amp.is_bfloat16_supported, "float16": paddle.amp.is_float16_supported}


class AutoCast(nn.Layer):
    """A network in 16 bits, whose outputs are float32."""

    def __init__(self, model, precision):
        super().__init__()
        self.model, self.precision = model, precision

    def forward(self, x):
        # O1: products, convolutions and what follows them; weights, normalisation, softmax and losses are float32.
        with paddle.amp.auto_cast(dtype=self.precision, level="O1"):
            return self.model(x).astype("float32")


def is_compiled(precision, device):
    """Whether the network is a program rather than called layer by layer."""
    return precision == "bfloat16" and device == "cpu"


def mixed_precision(model, precision, device):
    """What to call in place of the model, and what scales a loss of float16, if it is needed."""
    if precision not in MIXED:
        return model, None
    if not MIXED[precision]():
        # auto_cast would warn, and compute in float32.
        raise RequestError("unsupported", "Paddle has no mixed %s on this %s" % (precision, device.partition(":")[0]))
    cast = AutoCast(model, precision)
    if is_compiled(precision, device):
        return paddle.jit.to_static(cast, full_graph=True), None
    return cast, paddle.amp.GradScaler() if precision == "float16" else None
