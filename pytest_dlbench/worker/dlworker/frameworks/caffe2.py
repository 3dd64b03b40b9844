"""Caffe2, as it came inside PyTorch 1.0: brew's layers in a training net and a test net, N×C×H×W, on the CPU."""

import ctypes
import os
import runpy
import sys

import numpy as np
from caffe2.proto import caffe2_pb2
from caffe2.python import brew, core, model_helper, optimizer, workspace
from caffe2.python.modeling.initializers import Initializer
from caffe2.python.modeling.parameter_info import ParameterTags

from dlworker.protocol import RequestError

SUPPORTS = {
    "avg_pool",
    "batch_norm",
    "conv2d",
    "dense",
    "dropout",
    "flatten",
    "max_pool",
    "relu",
    "sgd",
    "sigmoid",
    "softmax_cross_entropy",
    "tanh",
}


def configure(threads):
    """The threads of MKL, which computes Caffe2's matrix products: nothing else has threads in this build."""
    # Flags are read once a process: Caffe2 ignores a second GlobalInit without a word.
    flags = ["--caffe2_omp_num_threads=%d" % threads, "--caffe2_mkl_num_threads=%d" % threads]
    workspace.GlobalInit(["caffe2"] + flags)


def threads():
    """What the MKL inside Caffe2's library tells; Caffe2 itself has no function for it."""
    extension = sys.modules[core.C.Workspace.__module__].__file__
    return ctypes.CDLL(extension).MKL_Get_Max_Threads()


def versions():
    """The PyTorch that Caffe2 is a part of: it has no version of its own any more."""
    # Read off the file: importing torch would take memory that Caffe2 does not need.
    found = runpy.run_path(os.path.join(os.path.dirname(workspace.__file__), "..", "..", "torch", "version.py"))
    return {"torch": found["__version__"]}


# Every layer is a function (model, layer, x, training) -> x; names of parameters are brew's own.


def _window(layer):
    (top, bottom), (left, right) = layer["padding"]
    return {"strides": list(layer["stride"]), "pads": [top, left, bottom, right]}


def conv2d(model, layer, x, training):
    settings = dict(_window(layer), kernel=list(layer["kernel"]), no_bias=not layer["bias"])
    if x == "data":
        # Else the gradient of the images is computed, too.
        settings["no_gradient_to_input"] = 1
    # brew.conv takes one stride for both directions.
    return brew.conv_nd(model, x, layer["name"], layer["input"][0], layer["output"][0], **settings)


def max_pool(model, layer, x, training):
    # Where several values of a window are the largest, Caffe2 gives each of them the whole gradient, not one of them.
    # It has no other pooling with a gradient on the CPU: MaxPoolWithIndex is for GPUs only.
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


LAYERS = {
    "conv2d": conv2d,
    "max_pool": max_pool,
    "avg_pool": avg_pool,
    "dense": dense,
    "dropout": lambda model, layer, x, training: brew.dropout(
        model, x, layer["name"], ratio=layer["rate"], is_test=int(not training)
    ),
    "flatten": lambda model, layer, x, training: model.net.Flatten(x, layer["name"]),
    "relu": lambda model, layer, x, training: brew.relu(model, x, layer["name"]),
    "tanh": lambda model, layer, x, training: brew.tanh(model, x, layer["name"]),
    "sigmoid": lambda model, layer, x, training: model.net.Sigmoid(x, layer["name"]),
}


def batch_norm(model, layer, x, training, batch_size):
    """Over the batch, and over an image; SpatialBN takes vectors as images of one pixel only."""
    if len(layer["input"]) == 3:
        return _spatial_bn(model, layer, x, training, batch_size * layer["input"][1] * layer["input"][2])
    pixels = model.net.ExpandDims(x, layer["name"] + "_pixels", dims=[2, 3])
    normal = _spatial_bn(model, layer, pixels, training, batch_size)
    return model.net.Squeeze(normal, layer["name"] + "_vector", dims=[2, 3])


def _spatial_bn(model, layer, x, training, count):
    # SpatialBN runs the biased variance, (count - 1) / count of the unbiased one in every step. So the running variance
    # starts at that share of 1, too, stays at that share of the wanted one, and the test net divides by it.
    name, biased = layer["name"], (count - 1.0) / count
    settings = {"epsilon": layer["epsilon"], "momentum": layer["decay"], "is_test": int(not training)}
    if training:
        normal = brew.spatial_bn(model, x, name, layer["input"][0], **settings)
        model.param_init_net.ConstantFill([], name + "_riv", shape=layer["input"][:1], value=biased)
        return normal
    variance = model.net.Scale(name + "_riv", name + "_variance", scale=1 / biased)
    return model.net.SpatialBN([x, name + "_s", name + "_b", name + "_rm", variance], name, **settings)


def build(model, network, seeds, training, batch_size):
    """Add the network to a net, from "data" and "label" to "loss"; gives the logits' name."""
    x = core.BlobReference("data")
    for layer, seed in zip(network["layers"], seeds):
        # A seed each: with one for the net all fillers, and all dropouts, would draw the same numbers.
        with core.DeviceScope(core.DeviceOption(caffe2_pb2.CPU, random_seed=seed)):
            if layer["kind"] == "batch_norm":
                x = batch_norm(model, layer, x, training, batch_size)
            elif layer["kind"] in LAYERS:
                x = LAYERS[layer["kind"]](model, layer, x, training)
            else:
                raise RequestError("unsupported", "the Caffe2 builder has no layer %r" % layer["kind"])
    model.net.SoftmaxWithLoss([x, "label"], ["softmax", "loss"])
    return str(x)


def _training_net(network, recipe, seeds):
    """A batch of the resident examples by its index, forward, backward, update."""
    model = model_helper.ModelHelper(name="training")
    model.net.Gather(["images", "index"], "data")
    model.net.Gather(["labels", "index"], "label")
    build(model, network, seeds, True, recipe["batch_size"])
    model.AddGradientOperators(["loss"])
    settings = recipe["optimizer"]
    if settings["kind"] != "sgd":
        raise RequestError("unsupported", "the Caffe2 builder has no optimiser %r" % settings["kind"])
    if settings["weight_decay"]:
        _add_weight_decay(model, settings["weight_decay"])
    rate, momentum, nesterov = settings["learning_rate"], settings["momentum"], int(settings["nesterov"])
    optimizer.build_sgd(model, base_learning_rate=rate, policy="fixed", momentum=momentum, nesterov=nesterov)
    return model


def _add_weight_decay(model, share):
    # What optimizer.add_weight_decay() does, but to biases, scales and shifts as well.
    one = model.param_init_net.ConstantFill([], "one", shape=[1], value=1.0)
    decay = model.param_init_net.ConstantFill([], "weight_decay", shape=[1], value=share)
    for parameter in model.params:
        gradient = model.param_to_grad[parameter]
        model.net.WeightedSum([gradient, one, parameter, decay], gradient)


ROLES = {"weight": "w", "bias": "b", "scale": "s", "shift": "b"}


class Trainer:
    """The two nets and their blobs, in Caffe2's one current workspace: a new Trainer ends the one before."""

    def __init__(self, network, recipe, weights, device, seed):
        _require(recipe["precision"], device)
        workspace.ResetWorkspace()
        self.network = network
        seeds = [int(one) for one in np.random.RandomState(seed % 2**32).randint(1, 2**31, len(network["layers"]))]
        self.model = _training_net(network, recipe, seeds)
        # Its parameters are those of the training net: what would fill them anew is never run.
        self.test = model_helper.ModelHelper(name="test", init_params=False)
        self.logits = build(self.test, network, seeds, False, recipe["batch_size"])
        workspace.RunNetOnce(self.model.param_init_net)
        if weights is not None:
            self._set(weights)
        for blob in ("images", "labels", "index", "data", "label"):
            workspace.CreateBlob(blob)
        workspace.CreateNet(self.model.net)
        workspace.CreateNet(self.test.net)

    def _natives(self):
        """Canonical name, blob and whether the native layout is transposed."""
        for layer in self.network["layers"]:
            for role in ("weight", "bias") if layer["kind"] != "batch_norm" else ("scale", "shift"):
                blob = "%s_%s" % (layer["name"], ROLES[role])
                if blob in self.model.params:
                    # FC keeps (outputs, inputs); convolutions are canonical as they are.
                    yield "%s.%s" % (layer["name"], role), blob, layer["kind"] == "dense" and role == "weight"

    def _set(self, weights):
        for name, blob, transposed in self._natives():
            array, shape = weights[name].T if transposed else weights[name], workspace.FetchBlob(blob).shape
            if array.shape != shape:
                raise ValueError("%s: Caffe2 has %s, the weights %s" % (name, shape, array.shape))
            workspace.FeedBlob(blob, np.ascontiguousarray(array, dtype=np.float32))

    def parameters(self):
        return {name: workspace.FetchBlob(b).shape[:: -1 if t else 1] for name, b, t in self._natives()}

    def describe(self):
        operators = self.model.net.Proto().op
        return "\n".join("%s: %s -> %s" % (op.type, ", ".join(op.input), ", ".join(op.output)) for op in operators)

    def load(self, inputs, labels, order, rates=None):
        workspace.FeedBlob("images", np.ascontiguousarray(inputs, dtype=np.float32))
        workspace.FeedBlob("labels", np.array(labels, dtype=np.int32))
        self.order = np.array(order, dtype=np.int32)

    def step(self, number):
        workspace.FeedBlob("index", self.order[number])
        workspace.RunNet(self.model.net)
        return workspace.FetchBlob("loss")

    def evaluate(self, inputs, labels, batch_size):
        correct, total = 0, 0.0
        for first in range(0, len(labels), batch_size):
            x = np.ascontiguousarray(inputs[first : first + batch_size], dtype=np.float32)
            y = np.array(labels[first : first + batch_size], dtype=np.int32)
            workspace.FeedBlob("data", x)
            workspace.FeedBlob("label", y)
            workspace.RunNet(self.test.net)
            correct += int((workspace.FetchBlob(self.logits).argmax(1) == y).sum())
            total += float(workspace.FetchBlob("loss")) * len(y)
        return correct, total / len(labels)


def _require(precision, device):
    if precision != "float32":
        raise RequestError("unsupported", "Caffe2's operators take 32-bit floats alone: Conv stops at %s" % precision)
    if device != "cpu":
        raise RequestError("unsupported", "the Caffe2 builder trains on the CPU alone, not on %r" % device)
