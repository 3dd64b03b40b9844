"""Every kind of layer as Gluon blocks or those in blocks.py, and their network."""

from functools import partial

from mxnet.gluon import nn, rnn

from dlworker.frameworks.mxnet import precision as mixed
from dlworker.frameworks.mxnet.blocks import (
    Attention,
    BatchNorm,
    CountedAvgPool2D,
    FirstStep,
    GELUInDouble,
    GELUTanh,
    Graph,
    LocalResponseNorm,
    Operator,
    PadChannels,
    Positions,
    uneven_padding,
)
from dlworker.frameworks.mxnet.detection import Detections, RegionProposals, RoIAlign
from dlworker.graph import is_chain


def conv2d(layer, kind=nn.Conv2D):
    padding, before = _padding(layer, 0.0)
    conv = kind(
        layer["output"][0],
        layer["kernel"],
        strides=layer["stride"],
        padding=padding,
        use_bias=layer["bias"],
        in_channels=layer["input"][0],
        groups=layer.get("groups", 1),
    )
    return before + [conv]


def max_pool(layer):
    padding, before = _padding(layer, -float("inf"))
    return before + [nn.MaxPool2D(layer["window"], strides=layer["stride"], padding=padding)]


def avg_pool(layer):
    padding, before = _padding(layer, 0.0)
    pool = nn.AvgPool2D(layer["window"], strides=layer["stride"], padding=padding, count_include_pad=False)
    return [CountedAvgPool2D(pool, pad) for pad in before] or [pool]


def batch_norm(layer):
    # With momentum 0 the running statistics are those of the batch: see RunningStatistics.
    return [BatchNorm(momentum=0.0, epsilon=layer["epsilon"], in_channels=layer["input"][0])]


def dense(layer, kind=nn.Dense):
    is_sequence = len(layer["input"]) == 2
    units, features = layer["output"][-1], layer["input"][-1]
    return [kind(units, flatten=not is_sequence, use_bias=layer["bias"], in_units=features)]


def gru(layer, gives_whole_state):
    return rnn.GRU(layer["units"], layout="NTC", input_size=layer["input"][1])


def lstm(layer, gives_whole_state):
    """The fused layer, or unrolled cells if another layer starts in the whole state at the end of each sequence.

    MXNet has one more bias than an LSTM needs; it stays at zero and is not trained.
    """
    units, features = layer["units"], layer["input"][1]
    if "lengths" in layer and gives_whole_state:
        cell = rnn.LSTMCell(units, input_size=features)
        cell.h2h_bias.grad_req = "null"
        return cell
    fused = rnn.LSTM(units, layout="NTC", input_size=features)
    fused.l0_h2h_bias.grad_req = "null"
    return fused


def layer_norm(layer):
    return [nn.LayerNorm(epsilon=layer["epsilon"], in_channels=layer["input"][-1])]


def tied_dense(layer, embedding):
    """A dense layer with the parameters of an embedding, which have the same layout."""
    units, features = layer["output"][-1], layer["input"][-1]
    return [nn.Dense(units, flatten=False, use_bias=False, in_units=features, params=embedding.params)]


LAYERS = {
    "add": lambda layer: [Operator("add_n")],
    "avg_pool": avg_pool,
    "batch_norm": batch_norm,
    "concat": lambda layer: [Operator("concat", dim=2 if len(layer["output"]) == 2 else 1)],
    "conv2d": conv2d,
    "cut": lambda layer: [Operator("slice_axis", axis=1, begin=layer["first"], end=layer["last"])],
    "dense": dense,
    "detections": lambda layer: [Detections()],
    "dropout": lambda layer: [nn.Dropout(layer["rate"])],
    "embedding": lambda layer: [nn.Embedding(layer["vocabulary"], layer["output"][-1])],
    "first_step": lambda layer: [FirstStep()],
    "flatten": lambda layer: [nn.Flatten()],
    "gelu_tanh": lambda layer: [GELUTanh()],
    "grouped_conv2d": conv2d,
    "layer_norm": layer_norm,
    "local_response_norm": lambda layer: [LocalResponseNorm(layer)],
    "log_softmax": lambda layer: [Operator("log_softmax", axis=-1)],
    "max_pool": max_pool,
    "pad_channels": lambda layer: [PadChannels(layer["added"])] if layer["added"] else [Operator("identity")],
    "positions": lambda layer: [Positions(layer)],
    "relu": lambda layer: [nn.Activation("relu")],
    "sigmoid": lambda layer: [nn.Activation("sigmoid")],
    "tanh": lambda layer: [nn.Activation("tanh")],
}


IN_BFLOAT16 = {
    "conv2d": partial(conv2d, kind=mixed.Conv2D),
    "grouped_conv2d": partial(conv2d, kind=mixed.Conv2D),
    "dense": partial(dense, kind=mixed.Dense),
}


def _padding(layer, value):
    """The padding that the operator does itself, and the padding blocks that must precede it."""
    if all(first == last for first, last in layer["padding"]):
        return [first for first, _ in layer["padding"]], []
    return (0, 0), [uneven_padding(layer["padding"], value)]


# These also take whether another layer starts in their whole final state.
RECURRENT = {"lstm": lstm, "gru": gru}
# These take the block of their embedding, or the type of their input.
TIED = {"tied_dense": tied_dense}
TYPED = {
    "attention": lambda layer, dtype: [Attention(layer, dtype)],
    "gelu": lambda layer, dtype: [GELUInDouble() if dtype == "float64" else nn.GELU()],
    "region_proposals": lambda layer, dtype: [RegionProposals(layer, dtype)],
    "roi_align": lambda layer, dtype: [RoIAlign(layer, dtype)],
}
KINDS = {*LAYERS, *RECURRENT, *TIED, *TYPED}


def build(network, precision):
    """The neutral network as a HybridSequential or a Graph, and the block of each layer by name."""
    layers, known = network["layers"], dict(LAYERS, **IN_BFLOAT16) if precision == "bfloat16" else LAYERS
    known = dict(known, **{kind: partial(make, dtype=_own_type(precision)) for kind, make in TYPED.items()})
    starts = {layer["start"] for layer in layers if "start" in layer}
    built = {}
    for layer in layers:
        if layer["kind"] in RECURRENT:
            built[layer["name"]] = [RECURRENT[layer["kind"]](layer, layer["name"] in starts)]
        elif layer["kind"] in TIED:
            built[layer["name"]] = TIED[layer["kind"]](layer, built[layer["embedding"]][-1])
        else:
            built[layer["name"]] = known[layer["kind"]](layer)
    own = {name: blocks[-1] for name, blocks in built.items()}
    together = {name: _together(blocks) for name, blocks in built.items()}
    if precision == "bfloat16":
        return mixed.Graph(layers, together, "float32"), own
    if not is_chain(layers) or any(layer["kind"] in RECURRENT for layer in layers):
        return Graph(layers, together, precision), own
    net = nn.HybridSequential()
    for name, blocks in built.items():
        for block in blocks[:-1]:
            net.register_child(block, "%s_pad" % name)
        net.register_child(blocks[-1], name)
    return net, own


def _own_type(precision):
    return "float64" if precision == "float64" else "float32"


def _together(blocks):
    if len(blocks) == 1:
        return blocks[0]
    net = nn.HybridSequential()
    net.add(*blocks)
    return net
