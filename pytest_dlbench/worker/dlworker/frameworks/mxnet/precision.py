"""Mixed precision in bfloat16, by MXNet's operators amp_cast and amp_multicast.

They are placed much as mxnet.contrib.amp would place them. Its own switch, amp.init, patches MXNet's functions
permanently, so that nothing else could be built in the process.
"""

import mxnet as mx
import numpy as np
from mxnet import nd
from mxnet.gluon import nn

from dlworker.frameworks.mxnet import blocks
from dlworker.protocol import RequestError

# As in mxnet.contrib.amp: NumPy has no bfloat16.
BFLOAT16 = np.dtype([("bfloat16", np.uint16)])
MIXED = {"bfloat16": BFLOAT16}
# Layers that oneDNN computes in the type of their input, or the widest of them. All other kinds read float32.
AS_IT_COMES = {
    "add",
    "avg_pool",
    "batch_norm",
    "concat",
    "conv2d",
    "dense",
    "flatten",
    "grouped_conv2d",
    "max_pool",
    "relu",
    "tanh",
}
# Blocks that pad first, which is done in float32.
PADDING = (nn.HybridSequential, blocks.CountedAvgPool2D)


def require(device):
    """Refuse if bfloat16 is unsupported. Found out by trying: oneDNN does not report it before it computes."""
    if device != "cpu":
        raise RequestError("unsupported", "MXNet supports bfloat16 only on CPUs")
    one = nd.amp_cast(nd.ones((1, 1)), dtype=BFLOAT16)
    try:
        nd.FullyConnected(one, one, no_bias=True, num_hidden=1).wait_to_read()
    except mx.base.MXNetError as error:
        raise RequestError(
            "unsupported", "MXNet's oneDNN has no bfloat16 on this CPU, which may lack AVX-512: %s" % error
        )


class InBfloat16:
    """A block whose operator reads bfloat16, converted from float32 weights."""

    def hybrid_forward(self, F, x, weight, bias=None):  # noqa: N803 - Gluon's own name for nd or sym
        arrays = [None if array is None else F.amp_cast(array, dtype=BFLOAT16) for array in (x, weight, bias)]
        return super().hybrid_forward(F, *arrays)


class Conv2D(InBfloat16, nn.Conv2D):
    """nn.Conv2D in bfloat16."""


class Dense(InBfloat16, nn.Dense):
    """nn.Dense in bfloat16."""


class Graph(blocks.Graph):
    """The network with casts between its layers; its outputs are float32."""

    def hybrid_forward(self, F, x):  # noqa: N803
        return F.amp_cast(super().hybrid_forward(F, x), dtype="float32")

    def read(self, F, layer, values):  # noqa: N803
        if layer["kind"] not in AS_IT_COMES or isinstance(self.blocks[layer["name"]], PADDING):
            return [F.amp_cast(value, dtype="float32") for value in values]
        return values if len(values) == 1 else list(F.amp_multicast(*values, num_outputs=len(values)))
