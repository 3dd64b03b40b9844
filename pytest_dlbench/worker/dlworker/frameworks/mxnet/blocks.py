"""Blocks for layers that Gluon lacks, and the network as one block if its layers do not form a chain."""

import mxnet as mx
import numpy as np
from mxnet import gluon, nd
from mxnet.gluon import rnn

from dlworker.graph import run, wired


class Operator(gluon.HybridBlock):
    """One operator of MXNet with its settings."""

    def __init__(self, operator, **settings):
        super().__init__()
        self.operator, self.settings = operator, settings

    def hybrid_forward(self, F, x, *others):  # noqa: N803 - Gluon's own name for nd or sym
        return getattr(F, self.operator)(x, *others, **self.settings)

    def __repr__(self):
        return "%s(%s)" % (self.operator, ", ".join("%s=%s" % pair for pair in sorted(self.settings.items())))


def uneven_padding(padding, value):
    """Asymmetric padding, which no Gluon layer supports."""
    (top, bottom), (left, right) = padding
    width = (0, 0, 0, 0, top, bottom, left, right)
    return Operator("pad", mode="constant", pad_width=width, constant_value=value)


class BatchNorm(gluon.nn.BatchNorm):
    """Gluon's own by MXNet's own operator, on GPUs too, where MXNet would otherwise choose between two.

    cuDNN leaves the unbiased variance of a batch in the running statistics, during the forward pass; MXNet's operator
    leaves the biased one, during the backward pass, on GPUs as on processors. RunningStatistics reads the latter. The
    normalised values and the gradients are the same.
    """

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self._kwargs["cudnn_off"] = True


class CountedAvgPool2D(gluon.HybridBlock):
    """Average pooling after asymmetric padding, excluding the padding from the mean."""

    def __init__(self, pool, pad, **kwargs):
        super().__init__(**kwargs)
        self.pad, self.pool = pad, pool

    def hybrid_forward(self, F, x):  # noqa: N803
        one = F.ones_like(F.slice(x, begin=(0, 0, None, None), end=(1, 1, None, None)))
        return F.broadcast_div(self.pool(self.pad(x)), self.pool(self.pad(one)))


class PadChannels(gluon.HybridBlock):
    """Appends channels of zeros; MXNet's operator pads rows and columns only."""

    def __init__(self, added, **kwargs):
        super().__init__(**kwargs)
        self.added = added

    def hybrid_forward(self, F, x):  # noqa: N803
        zeros = F.zeros_like(F.slice_axis(x, axis=1, begin=0, end=1))
        return F.concat(x, F.broadcast_axis(zeros, axis=1, size=self.added), dim=1)

    def __repr__(self):
        return "PadChannels(%d)" % self.added


class LocalResponseNorm(gluon.HybridBlock):
    """Replaces MXNet's LRN.

    MXNet's gradient is wrong where oneDNN computes it after a convolution: by 0.05 % for alpha 0.0001, by up to 76 %
    for alpha 0.5. In float64 it fails.
    """

    def __init__(self, layer, **kwargs):
        super().__init__(**kwargs)
        self.layer = layer

    def hybrid_forward(self, F, x):  # noqa: N803
        size, alpha, beta, k = (self.layer[name] for name in ("size", "alpha", "beta", "k"))
        # The sum over neighbouring channels, as pooling over the rows of an image.
        rows = F.reshape(F.square(x), (0, 1, self.layer["input"][0], -1))
        sums = F.Pooling(rows, kernel=(size, 1), pad=(size // 2, 0), stride=(1, 1), pool_type="sum")
        return x / (k + alpha / size * F.reshape_like(sums, x)) ** beta

    def __repr__(self):
        return "LocalResponseNorm(%d)" % self.layer["size"]


# The exponential of its negative is zero in every precision.
LARGE = 1e30


class Attention(gluon.HybridBlock):
    """Heads of queries, keys and values that are next to each other: two products and a softmax."""

    def __init__(self, layer, dtype, **kwargs):
        super().__init__(**kwargs)
        self.layer, self.dtype = layer, dtype

    def hybrid_forward(self, F, x, lengths=None):  # noqa: N803
        (steps, width), heads = self.layer["input"], self.layer["heads"]
        parts = F.transpose(F.reshape(x, (0, 0, 3, heads, -1)), (2, 0, 3, 1, 4))
        query, key, value = F.split(parts, num_outputs=3, axis=0, squeeze_axis=True)
        query, key, value = (F.reshape(part, (-3, 0, 0)) for part in (query, key, value))
        scores = F.batch_dot(query, key, transpose_b=True) / (width // 3 // heads) ** 0.5
        scores = self._masked(F, F.reshape(scores, (-4, -1, heads, 0, 0)), steps, lengths)
        attended = F.batch_dot(F.reshape(F.softmax(scores, axis=-1), (-3, 0, 0)), value)
        attended = F.transpose(F.reshape(attended, (-4, -1, heads, 0, 0)), (0, 2, 1, 3))
        return F.reshape(attended, (0, 0, -3))

    def _masked(self, F, scores, steps, lengths):  # noqa: N803
        """The scores, very small where a step may not attend to another, so that their exponential is zero."""
        places = F.arange(steps, dtype=self.dtype)
        row = F.reshape(places, (1, 1, 1, steps))
        if self.layer["causal"]:
            later = F.broadcast_greater(row, F.reshape(places, (1, 1, steps, 1)))
            scores = F.broadcast_sub(scores, LARGE * later)
        if lengths is not None:
            ends = F.reshape(F.cast(lengths, self.dtype), (-1, 1, 1, 1))
            scores = F.broadcast_sub(scores, LARGE * F.broadcast_greater_equal(row, ends))
        return scores

    def __repr__(self):
        return "Attention(heads=%d, causal=%s, two products, not fused)" % (self.layer["heads"], self.layer["causal"])


class Positions(gluon.HybridBlock):
    """Adds a trained vector to each step."""

    def __init__(self, layer, **kwargs):
        super().__init__(**kwargs)
        self.weight = self.params.get("weight", shape=tuple(layer["input"]), init=mx.init.Normal(0.02))

    def hybrid_forward(self, F, x, weight):  # noqa: N803
        return F.broadcast_add(x, F.expand_dims(weight, axis=0))


class FirstStep(gluon.HybridBlock):
    """The features of the first step."""

    def hybrid_forward(self, F, x):  # noqa: N803
        return F.squeeze(F.slice_axis(x, axis=1, begin=0, end=1), axis=1)


class GELUInDouble(gluon.HybridBlock):
    """nn.GELU with a constant that is not rounded to float32."""

    def hybrid_forward(self, F, x):  # noqa: N803
        return x * (1 + F.erf(x / 2**0.5)) / 2


class GELUTanh(gluon.HybridBlock):
    """The approximation by tanh, which MXNet lacks."""

    def hybrid_forward(self, F, x):  # noqa: N803
        return x * (1 + F.tanh((2 / np.pi) ** 0.5 * (x + 0.044715 * x**3))) / 2


class Graph(gluon.HybridBlock):
    """A network whose layers do not form a chain; its children have the names of the layers.

    A detector in training also takes the objects that it is trained on. A graph is compiled for either.
    """

    def __init__(self, layers, blocks, dtype):
        super().__init__()
        self.nodes, self.blocks, self.dtype = wired(layers), blocks, dtype
        for name, block in blocks.items():
            self.register_child(block, name)

    def hybrid_forward(self, F, x, truth=None):  # noqa: N803
        lengths, states = {}, {}

        def call(layer, values):
            name, block = layer["name"], self.blocks[layer["name"]]
            values = self.read(F, layer, values)
            if layer["kind"] == "embedding" and layer["padding"] is not None:
                lengths[name] = F.sum(values[0] != layer["padding"], axis=1)
            if layer["kind"] in ("lstm", "gru"):
                start = _start(F, block, values[0], states.get(layer.get("start")), self.dtype)
                made, states[name] = recurrent(F, layer, block, values[0], lengths.get(layer.get("lengths")), start)
                return made
            if layer["kind"] == "region_proposals" and truth is not None:
                return block(*values, truth)
            if layer["kind"] == "attention" and "lengths" in layer:
                return block(values[0], lengths[layer["lengths"]])
            return block(*values)

        return run(self.nodes, x, call)

    def read(self, F, layer, values):  # noqa: N803
        """The values in the form that a layer reads."""
        return values

    def __repr__(self):
        return "Graph(\n%s\n)" % "\n".join("  (%s): %r" % pair for pair in self.blocks.items())


def recurrent(F, layer, block, x, lengths, start):  # noqa: N803
    """The outputs of all steps or the last one, and the final state, (batch, units) arrays."""
    if isinstance(block, rnn.LSTMCell):
        outputs, state = block.unroll(layer["input"][0], x, start, "NTC", merge_outputs=True, valid_length=lengths)
    else:
        outputs, state = block(x, start)
        if lengths is None:
            state = [F.squeeze(part, axis=0) for part in state]
        else:
            # On a CPU the operator reads all steps. Outputs up to the last real step do not depend on the later ones.
            state = [F.SequenceLast(outputs, lengths, use_sequence_length=True, axis=1)]
    return (outputs if layer["sequence"] else state[0]), state


def _start(F, block, x, state, dtype):  # noqa: N803
    """The initial state in the form that the block expects: another layer's last state, or zeros."""
    if state is not None:
        return state if isinstance(block, rnn.LSTMCell) else [F.expand_dims(part, axis=0) for part in state]
    if F is mx.sym:
        # The size of the batch is inferred.
        return block.begin_state(0, F.zeros, dtype=dtype)
    return block.begin_state(len(x), F.zeros, dtype=dtype, ctx=x.context)


class RunningStatistics:
    """Mean and variance of every BatchNorm over all batches, in one array.

    MXNet's operator averages the biased variance, and keeps the decay as a float32.
    """

    def __init__(self, blocks, layers):
        self.layers = [layer for layer in layers if layer["kind"] == "batch_norm"]
        norms = [blocks[layer["name"]] for layer in self.layers]
        self.parameters = [p for norm in norms for p in (norm.running_mean, norm.running_var)]
        self.values = self._of_batch() if norms else None

    def _of_batch(self):
        return nd.concat(*[parameter.data() for parameter in self.parameters], dim=0)

    def expect(self, batch_size):
        """Compute the weights of the old values and of a batch's values from now on."""
        kept, moved = [], []
        for layer in self.layers:
            channels, decay = layer["input"][0], layer["decay"]
            count = batch_size * int(np.prod(layer["input"][1:]))
            kept += [decay] * 2 * channels
            moved += [1 - decay] * channels + [(1 - decay) * count / (count - 1)] * channels
        if self.layers:
            self.kept, self.moved = (nd.array(a, self.values.context, self.values.dtype) for a in (kept, moved))

    def move(self):
        """Update from the statistics that the backward pass left in the operators, once it is known to have ended.

        With static_shape the engine does not know that it writes them: even wait_to_read does not wait for that.
        """
        if self.layers:
            self.values *= self.kept
            self.values += self.moved * self._of_batch()
            nd.waitall()

    def read(self):
        """Take the statistics that are installed: those of a checkpoint."""
        if self.layers:
            self.values = self._of_batch()

    def install(self):
        """Write the statistics where inference reads them; the next step overwrites them."""
        first = 0
        for parameter in self.parameters:
            last = first + parameter.shape[0]
            parameter.set_data(self.values[first:last])
            first = last
