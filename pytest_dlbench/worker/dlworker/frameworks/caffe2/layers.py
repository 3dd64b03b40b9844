"""Every kind of layer in brew's functions, N×C×H×W; names of parameters are brew's own."""

from caffe2.python import brew
from caffe2.python.modeling.initializers import Initializer
from caffe2.python.modeling.parameter_info import ParameterTags

from dlworker.graph import wired

# Every layer is a function (model, layer, x, training) -> x.


def _window(layer):
    (top, bottom), (left, right) = layer["padding"]
    return {"strides": list(layer["stride"]), "pads": [top, left, bottom, right]}


def conv2d(model, layer, x, training):
    settings = dict(_window(layer), kernel=list(layer["kernel"]), no_bias=not layer["bias"])
    settings["group"] = layer.get("groups", 1)
    if x == "data":
        # Otherwise the gradient of the images would be computed, too.
        settings["no_gradient_to_input"] = 1
    # brew.conv takes one stride for both directions.
    return brew.conv_nd(model, x, layer["name"], layer["input"][0], layer["output"][0], **settings)


def max_pool(model, layer, x, training):
    # If several values of a window tie for the maximum, Caffe2 passes the whole gradient to each of them, not to one.
    # It has no other max pooling with a gradient on the CPU: MaxPoolWithIndex is for GPUs only.
    return brew.max_pool(model, x, layer["name"], kernels=list(layer["window"]), **_window(layer))


def avg_pool(model, layer, x, training):
    return brew.average_pool(model, x, layer["name"], kernels=list(layer["window"]), **_window(layer))


def dense(model, layer, x, training):
    name, inputs, outputs = layer["name"], layer["input"][0], layer["output"][0]
    if layer["bias"]:
        return brew.fc(model, x, name, inputs, outputs)
    # brew.fc always has a bias.
    start = Initializer("XavierFill")
    weight = model.create_param(name + "_w", shape=[outputs, inputs], initializer=start, tags=ParameterTags.WEIGHT)
    return model.net.MatMul([x, weight], name, trans_b=1)


def log_softmax(model, layer, x, training):
    """Caffe2 has only the softmax, which underflows to 0 for very small probabilities."""
    net, name = model.net, layer["name"]
    # It cancels out, and so does its gradient.
    largest = net.StopGradient(net.ReduceBackMax(x, name + "_max"), name + "_largest")
    shifted = net.Sub([x, largest], name + "_shifted", broadcast=1, axis=0)
    total = net.Log(net.ReduceBackSum(net.Exp(shifted, name + "_exp"), name + "_sum"), name + "_log")
    return net.Sub([shifted, total], name, broadcast=1, axis=0)


def local_response_norm(model, layer, x, training):
    settings = {"size": layer["size"], "alpha": layer["alpha"], "beta": layer["beta"], "bias": layer["k"]}
    return brew.lrn(model, x, layer["name"], order="NCHW", **settings)


def pad_channels(model, layer, x, training):
    net, name = model.net, layer["name"]
    count = net.Shape(x, name + "_count", axes=[0])
    more = [layer["added"]] + layer["input"][1:]
    zeros = net.ConstantFill(count, name + "_zeros", input_as_shape=1, extra_shape=more, value=0.0)
    return concat(model, layer, [x, zeros])


def concat(model, layer, values):
    return model.net.Concat(values, [layer["name"], layer["name"] + "_sizes"], axis=1)[0]


LAYERS = {
    "conv2d": conv2d,
    "grouped_conv2d": conv2d,
    "local_response_norm": local_response_norm,
    "log_softmax": log_softmax,
    "pad_channels": pad_channels,
    "max_pool": max_pool,
    "avg_pool": avg_pool,
    "dense": dense,
    "dropout": lambda model, layer, x, training: brew.dropout(
        model, x, layer["name"], ratio=layer["rate"], is_test=int(not training)
    ),
    "flatten": lambda model, layer, x, training: model.net.Flatten(x, layer["name"]),
    "relu": lambda model, layer, x, training: brew.relu(model, x, layer.get("over", layer["name"])),
    "tanh": lambda model, layer, x, training: brew.tanh(model, x, layer.get("over", layer["name"])),
    "sigmoid": lambda model, layer, x, training: model.net.Sigmoid(x, layer.get("over", layer["name"])),
}


def overwriting(layers):
    """The layers; activations get the blob they may overwrite (``over``), in place as in Caffe2's tutorials.

    In place is safe only if neither another layer nor the gradient of the producing layer reads the blob again.
    """
    made = {layer["name"]: layer["kind"] for layer in layers}
    for layer, inputs, done in wired(layers):
        is_last = inputs == done and made.get(inputs[0]) in ("conv2d", "grouped_conv2d", "dense")
        overwrites = is_last and layer["kind"] in ("relu", "tanh", "sigmoid")
        yield dict(layer, over=inputs[0]) if overwrites else layer


def batch_norm(model, layer, x, training, batch_size):
    """Over the batch and the image; SpatialBN takes vectors only as one-pixel images."""
    if len(layer["input"]) == 3:
        return _spatial_bn(model, layer, x, training, batch_size * layer["input"][1] * layer["input"][2])
    pixels = model.net.ExpandDims(x, layer["name"] + "_pixels", dims=[2, 3])
    normal = _spatial_bn(model, layer, pixels, training, batch_size)
    return model.net.Squeeze(normal, layer["name"] + "_vector", dims=[2, 3])


def _spatial_bn(model, layer, x, training, count):
    # SpatialBN averages the biased variance, (count - 1) / count of the unbiased one in every step. So the running
    # variance starts at that fraction of 1, stays at that fraction of the wanted one, and the test net divides by it.
    name, biased = layer["name"], (count - 1.0) / count
    settings = {"epsilon": layer["epsilon"], "momentum": layer["decay"], "is_test": int(not training)}
    if training:
        normal = brew.spatial_bn(model, x, name, layer["input"][0], **settings)
        model.param_init_net.ConstantFill([], name + "_riv", shape=layer["input"][:1], value=biased)
        return normal
    variance = model.net.Scale(name + "_riv", name + "_variance", scale=1 / biased)
    return model.net.SpatialBN([x, name + "_s", name + "_b", name + "_rm", variance], name, **settings)


MERGES = {"add": lambda model, layer, values: model.net.Sum(values, layer["name"]), "concat": concat}
# Layers that need the batch size.
OF_BATCHES = {"batch_norm": batch_norm}
KINDS = {*LAYERS, *MERGES, *OF_BATCHES}
