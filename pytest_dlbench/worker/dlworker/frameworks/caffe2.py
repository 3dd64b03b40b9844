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

from dlworker.frameworks.caffe2_updates import add_update, add_weight_decay, clip
from dlworker.graph import run, wired
from dlworker.protocol import RequestError

# Left out are sequences: a recurrent layer of rnn_cell is a step net inside an operator, and to hold its parts to the
# canonical ones would need much code.
SUPPORTS = {
    "adadelta",
    "adam",
    "add",
    "avg_pool",
    "batch_norm",
    "clip_norm",
    "concat",
    "conv2d",
    "dense",
    "dropout",
    "flatten",
    "grouped_conv2d",
    "local_response_norm",
    "log_softmax",
    "max_pool",
    "pad_channels",
    "relu",
    "rmsprop",
    "schedule",
    "sgd",
    "sigmoid",
    "sigmoid_cross_entropy",
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
    settings["group"] = layer.get("groups", 1)
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


def log_softmax(model, layer, x, training):
    """Caffe2 has the softmax alone, whose logarithm is that of 0 where a probability is very small."""
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
    return _concat(model, layer, [x, zeros])


def _concat(model, layer, values):
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


def _overwriting(layers):
    """The layers; activations say which blob they write ``over``, as in Caffe2's tutorials, where nobody needs that.

    Another layer may, and so may the gradient of what made it: of these layers it does not.
    """
    made = {layer["name"]: layer["kind"] for layer in layers}
    for layer, inputs, done in wired(layers):
        is_last = inputs == done and made.get(inputs[0]) in ("conv2d", "grouped_conv2d", "dense")
        overwrites = is_last and layer["kind"] in ("relu", "tanh", "sigmoid")
        yield dict(layer, over=inputs[0]) if overwrites else layer


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
    """Add the network to a net, from "data" to the logits, whose name it gives; in training from "label" to "loss"."""

    def call(layer, values):
        kind, x = layer["kind"], values[0]
        # A seed each: with one for the net all fillers, and all dropouts, would draw the same numbers.
        with core.DeviceScope(core.DeviceOption(caffe2_pb2.CPU, random_seed=seeds[layer["name"]])):
            if kind == "add":
                return model.net.Sum(values, layer["name"])
            if kind == "concat":
                return _concat(model, layer, values)
            if kind == "batch_norm":
                return batch_norm(model, layer, x, training, batch_size)
            return LAYERS[kind](model, layer, x, training)

    x = run(wired(list(_overwriting(network["layers"]))), core.BlobReference("data"), call)
    if not training:
        return str(x)
    if network["loss"] == "sigmoid_cross_entropy":
        model.net.AveragedLoss(model.net.SigmoidCrossEntropyWithLogits([x, "label"], "losses"), "loss")
    else:
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
    if recipe.get("clip_norm"):
        clip(model, recipe["clip_norm"])
    if settings.get("weight_decay"):
        add_weight_decay(model, settings["weight_decay"])
    if is_fed(recipe):
        add_update(model, settings)
        return model
    rate, momentum, nesterov = settings["learning_rate"], settings["momentum"], int(settings["nesterov"])
    optimizer.build_sgd(model, base_learning_rate=rate, policy="fixed", momentum=momentum, nesterov=nesterov)
    return model


def is_fed(recipe):
    """Whether a step is fed its learning rate, as the "rate" of an update that is written out.

    Caffe2's own momentum has the rate inside the velocity, which is something else where the rate changes. Its Adam
    adds epsilon to a root that is not corrected yet, and its RMSprop inside the root.
    """
    return recipe["optimizer"]["kind"] != "sgd" or bool(recipe.get("schedule"))


ROLES = {"weight": "w", "bias": "b", "scale": "s", "shift": "b"}


class Trainer:
    """The two nets and their blobs, in Caffe2's one current workspace: a new Trainer ends the one before."""

    def __init__(self, network, recipe, weights, device, seed):
        _require(recipe["precision"], device)
        workspace.ResetWorkspace()
        self.network, self.recipe = network, recipe
        numbers = np.random.RandomState(seed % 2**32).randint(1, 2**31, len(network["layers"]))
        seeds = {layer["name"]: int(number) for layer, number in zip(network["layers"], numbers)}
        self.model = _training_net(network, recipe, seeds)
        # Its parameters are those of the training net: what would fill them anew is never run.
        self.test = model_helper.ModelHelper(name="test", init_params=False)
        self.logits = build(self.test, network, seeds, False, recipe["batch_size"])
        workspace.RunNetOnce(self.model.param_init_net)
        if weights is not None:
            self._set(weights)
        for blob in ("images", "labels", "index", "data", "label", "rate", "correction"):
            workspace.CreateBlob(blob)
        workspace.CreateNet(self.model.net)
        workspace.CreateNet(self.test.net)
        self.taken = 0

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
        workspace.FeedBlob("labels", self._labels(labels))
        self.order, self.rates = np.array(order, dtype=np.int32), rates

    def _labels(self, labels):
        if self.network["loss"] == "sigmoid_cross_entropy":
            return np.array(labels, dtype=np.float32).reshape(len(labels), -1)
        return np.array(labels, dtype=np.int32)

    def step(self, number):
        workspace.FeedBlob("index", self.order[number])
        if is_fed(self.recipe):
            self._feed(number)
        workspace.RunNet(self.model.net)
        return workspace.FetchBlob("loss")

    def _feed(self, number):
        settings = self.recipe["optimizer"]
        rate = settings["learning_rate"] if self.rates is None else float(self.rates[number])
        self.taken += 1
        if settings["kind"] == "adam":
            rate /= 1 - settings["beta1"] ** self.taken
            correction = (1 - settings["beta2"] ** self.taken) ** -0.5
            workspace.FeedBlob("correction", np.array([correction], dtype=np.float32))
        # It is added.
        workspace.FeedBlob("rate", np.array([-rate], dtype=np.float32))

    def outputs(self, inputs, batch_size):
        inputs = np.ascontiguousarray(inputs, dtype=np.float32)
        for first in range(0, len(inputs), batch_size):
            workspace.FeedBlob("data", inputs[first : first + batch_size])
            workspace.RunNet(self.test.net)
            yield workspace.FetchBlob(self.logits)


def _require(precision, device):
    if precision != "float32":
        raise RequestError("unsupported", "Caffe2's operators take 32-bit floats alone: Conv stops at %s" % precision)
    if device != "cpu":
        raise RequestError("unsupported", "the Caffe2 builder trains on the CPU alone, not on %r" % device)
