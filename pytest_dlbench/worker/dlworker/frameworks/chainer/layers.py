"""Every kind of layer as Chainer links and functions, written here where Chainer lacks them, and their network."""

from functools import partial

import chainer
import chainer.functions as F  # noqa: N812 - the names they have in Chainer's own documentation
import chainer.links as L  # noqa: N812
import numpy as np

from dlworker.frameworks.chainer.detection import RegionProposals, RoIAlign, detections
from dlworker.frameworks.chainer.precision import Convolution2D, EmbedID, Linear, widened
from dlworker.graph import is_chain, run, wired


def flatten(x):
    """Each example as a vector; F.flatten would make one vector of the whole batch."""
    return F.reshape(x, (len(x), -1))


def uneven_average_pooling(x, window, stride, sides):
    """Average pooling with asymmetric padding; F.average_pooling_2d includes the padding in the mean."""
    # Where x is.
    one = x.xp.ones_like(x.array[:1, :1])
    total, share = (F.average_pooling_2d(F.pad(values, sides, "constant"), window, stride) for values in (x, one))
    return total / F.broadcast_to(share, total.shape)


def concat(*values, axis):
    """Concatenate several values; F.concat takes them as one list."""
    return F.concat(values, axis)


def cut(tokens, first, last):
    """A part of a row of tokens."""
    return tokens[:, first:last]


class StepwiseLinear(Linear):
    """Linear at every step of a sequence."""

    def forward(self, x):
        return super().forward(x, n_batch_axes=2)


class SequenceLSTM(L.LSTM):
    """L.LSTM over a batch of sequences; returns all outputs or the last one, and the final state.

    Sequences of different lengths are sorted, longest first, as L.LSTM requires: the batch of a step holds those that
    have not ended. (L.NStepLSTM sorts by itself, but stacks its gates' arrays again at every step.)
    """

    def __init__(self, layer):
        super().__init__(layer["input"][1], layer["units"])
        self.gives_sequence = layer["sequence"]

    def forward(self, x, lengths=None, start=None):
        if lengths is None:
            return self._run(F.separate(x, axis=1), start)
        order = np.argsort(-lengths, kind="stable").astype(np.int32)
        steps = F.separate(F.permutate(x, order), axis=1)
        going = [values[: np.count_nonzero(lengths > number)] for number, values in enumerate(steps)]
        made, state = self._run(going, start and [F.permutate(part, order) for part in start])
        return F.permutate(made, order, inv=True), [F.permutate(part, order, inv=True) for part in state]

    def _run(self, steps, start):
        if start is not None:
            self.set_state(*start)
        step = super().forward
        outputs = [step(values) for values in steps]
        state = [self.c, self.h]
        # Its state holds the whole graph of this batch.
        self.reset_state()
        return (F.swapaxes(F.pad_sequence(outputs), 0, 1) if self.gives_sequence else state[1]), state


def interleaved(array):
    """Gates i, f, g, o in L.LSTM's order: g, i, f, o of the first unit, then of the next."""
    gates = array.reshape(array.shape[:-1] + (4, -1))[..., [2, 0, 1, 3], :]
    return gates.swapaxes(-1, -2).reshape(array.shape)


class SequenceGRU(chainer.Chain):
    """L.NStepGRU over a batch of sequences, as SequenceLSTM; L.GRU applies the reset gate before the product."""

    def __init__(self, layer):
        super().__init__()
        self.gives_sequence = layer["sequence"]
        with self.init_scope():
            self.rnn = L.NStepGRU(1, layer["input"][1], layer["units"], 0.0)

    def forward(self, x, lengths=None, start=None):
        sequences = F.separate(x, axis=0)
        if lengths is not None:
            sequences = [sequence[:length] for sequence, length in zip(sequences, lengths)]
        state, outputs = self.rnn(start, sequences)
        return (F.pad_sequence(outputs, length=x.shape[1]) if self.gives_sequence else state[0]), state


# For each kind of layer, a function of the layer that returns links and functions to call one after the other.


def conv2d(layer):
    pad, before = _padding(layer, 0.0)
    channels, filters = layer["input"][0], layer["output"][0]
    settings = {"nobias": not layer["bias"], "groups": layer.get("groups", 1)}
    return before + [Convolution2D(channels, filters, layer["kernel"], layer["stride"], pad, **settings)]


def max_pool(layer):
    pad, before = _padding(layer, -np.inf)
    # Without cover_all=False, partly filled windows would count, too.
    pool = partial(F.max_pooling_2d, ksize=layer["window"], stride=layer["stride"], pad=pad, cover_all=False)
    return before + [pool]


def avg_pool(layer):
    window, stride = layer["window"], layer["stride"]
    if any(first != last for first, last in layer["padding"]):
        return [partial(uneven_average_pooling, window=window, stride=stride, sides=_sides(layer))]
    pad = tuple(first for first, _ in layer["padding"])
    if any(pad):
        # pad_value=None excludes the padding from the mean. F.average_pooling_2d has no such option.
        return [partial(F.average_pooling_nd, ksize=window, stride=stride, pad=pad, pad_value=None)]
    return [partial(F.average_pooling_2d, ksize=window, stride=stride)]


def batch_norm(layer):
    return [L.BatchNormalization(layer["input"][0], decay=layer["decay"], eps=layer["epsilon"])]


def dense(layer):
    kind = StepwiseLinear if len(layer["input"]) == 2 else Linear
    return [kind(layer["input"][-1], layer["output"][-1], nobias=not layer["bias"])]


def local_response_norm(layer):
    # Chainer does not divide alpha by the size.
    settings = {"n": layer["size"], "k": layer["k"], "alpha": layer["alpha"] / layer["size"], "beta": layer["beta"]}
    return [partial(widened, compute=F.local_response_normalization, **settings)]


def pad_channels(layer):
    width = [(0, 0), (0, layer["added"]), (0, 0), (0, 0)]
    return [partial(F.pad, pad_width=width, mode="constant", constant_values=0.0)]


LAYERS = {
    "add": lambda layer: [F.add],
    "avg_pool": avg_pool,
    "batch_norm": batch_norm,
    "concat": lambda layer: [partial(concat, axis=2 if len(layer["output"]) == 2 else 1)],
    "conv2d": conv2d,
    "cut": lambda layer: [partial(cut, first=layer["first"], last=layer["last"])],
    "dense": dense,
    "detections": lambda layer: [detections],
    "dropout": lambda layer: [partial(F.dropout, ratio=layer["rate"])],
    "embedding": lambda layer: [EmbedID(layer["vocabulary"], layer["output"][-1])],
    "flatten": lambda layer: [flatten],
    "grouped_conv2d": conv2d,
    "gru": lambda layer: [SequenceGRU(layer)],
    "local_response_norm": local_response_norm,
    "log_softmax": lambda layer: [partial(widened, compute=F.log_softmax, axis=-1)],
    "lstm": lambda layer: [SequenceLSTM(layer)],
    "max_pool": max_pool,
    "pad_channels": pad_channels,
    "region_proposals": lambda layer: [RegionProposals(layer)],
    "relu": lambda layer: [F.relu],
    "roi_align": lambda layer: [RoIAlign(layer)],
    "sigmoid": lambda layer: [F.sigmoid],
    "tanh": lambda layer: [F.tanh],
}


def _sides(layer):
    return [(0, 0), (0, 0)] + [tuple(sides) for sides in layer["padding"]]


def _padding(layer, value):
    """The padding that the function does itself, and the padding functions that must precede it."""
    if all(first == last for first, last in layer["padding"]):
        return tuple(first for first, _ in layer["padding"]), []
    return (0, 0), [partial(F.pad, pad_width=_sides(layer), mode="constant", constant_values=value)]


class Network(chainer.Chain):
    """The neutral network; each link has the name of its layer."""

    def __init__(self, network):
        super().__init__()
        self.layers = network["layers"]
        self.nodes = wired(self.layers)
        self.is_chain = is_chain(self.layers) and not any(layer["kind"] in ("lstm", "gru") for layer in self.layers)
        self.steps = []
        for layer in self.layers:
            for step in LAYERS[layer["kind"]](layer):
                self.steps.append((layer["name"], step))
                if isinstance(step, chainer.Link):
                    self.add_link(layer["name"], step)

    def forward(self, x, lengths=None, truth=None):
        """The last layer's output.

        ``lengths`` are those of ``dlworker.graph``, which recurrent layers take; ``truth`` has the objects that a
        detector is trained on.
        """
        if not self.is_chain:
            return self._graph(x, lengths or {}, truth)
        for _, step in self.steps:
            x = step(x)
        return x

    def _graph(self, x, lengths, truth):
        """The output of a network that is not a chain, or whose layers pass on more than their output."""
        steps, states = {}, {}
        for name, step in self.steps:
            steps.setdefault(name, []).append(step)

        def call(layer, values):
            name = layer["name"]
            if layer["kind"] in ("lstm", "gru"):
                start = states.get(layer.get("start"))
                made, states[name] = steps[name][0](values[0], lengths.get(layer.get("lengths")), start)
                return made
            if layer["kind"] == "region_proposals":
                return steps[name][0](*values, truth=truth)
            for step in steps[name]:
                values = [step(*values)]
            return values[0]

        return run(self.nodes, x, call)
