"""Caffe2, as it came inside PyTorch 1.0: brew's layers in a training net and a test net, N×C×H×W, on the CPU."""

import ctypes
import os
import runpy
import sys

import numpy as np
from caffe2.proto import caffe2_pb2
from caffe2.python import core, model_helper, optimizer, workspace

from dlworker.frameworks.caffe2.layers import KINDS, LAYERS, MERGES, OF_BATCHES, overwriting
from dlworker.frameworks.caffe2.losses import LOSSES
from dlworker.frameworks.caffe2.optimizers import OPTIMIZERS, add_update, add_weight_decay, clip
from dlworker.graph import run, wired
from dlworker.protocol import RequestError

# No sequences: a recurrent layer of rnn_cell is a step net inside an operator, and mapping its parts to the canonical
# ones would need much code.
SUPPORTS = {*KINDS, *LOSSES, *OPTIMIZERS, "schedule", "clip_norm", "pipeline"}


def configure(threads):
    """Set the threads of MKL, which computes Caffe2's matrix products: nothing else is threaded in this build."""
    # Flags are read once per process: Caffe2 silently ignores a second GlobalInit.
    flags = ["--caffe2_omp_num_threads=%d" % threads, "--caffe2_mkl_num_threads=%d" % threads]
    workspace.GlobalInit(["caffe2"] + flags)


def threads():
    """The number that the MKL inside Caffe2's library reports; Caffe2 itself has no function for it."""
    extension = sys.modules[core.C.Workspace.__module__].__file__
    return ctypes.CDLL(extension).MKL_Get_Max_Threads()


def versions():
    """The PyTorch that contains Caffe2, which no longer has a version of its own."""
    # Read from the file: importing torch would take memory that Caffe2 does not need.
    found = runpy.run_path(os.path.join(os.path.dirname(workspace.__file__), "..", "..", "torch", "version.py"))
    return {"torch": found["__version__"]}


def build(model, network, seeds, training, batch_size):
    """Add the network to a net and return the name of its logits; training also adds the loss, named "loss"."""

    def call(layer, values):
        kind, x = layer["kind"], values[0]
        # One seed per operator: with one for the net, all fillers and all dropouts would draw the same numbers.
        with core.DeviceScope(core.DeviceOption(caffe2_pb2.CPU, random_seed=seeds[layer["name"]])):
            if kind in MERGES:
                return MERGES[kind](model, layer, values)
            if kind in OF_BATCHES:
                return OF_BATCHES[kind](model, layer, x, training, batch_size)
            return LAYERS[kind](model, layer, x, training)

    x = run(wired(list(overwriting(network["layers"]))), core.BlobReference("data"), call)
    if training:
        LOSSES[network["loss"]](model, x)
    return str(x)


def _training_net(network, recipe, seeds):
    """The net of one step: gather a batch of the resident examples by index, forward, backward, update.

    ``begins`` of the model are the numbers of the operators with which these four begin.
    """
    model = model_helper.ModelHelper(name="training")
    model.net.Gather(["images", "index"], "data")
    model.net.Gather(["labels", "index"], "label")
    model.begins = [0, len(model.net.Proto().op)]
    build(model, network, seeds, True, recipe["batch_size"])
    model.begins.append(len(model.net.Proto().op))
    model.AddGradientOperators(["loss"])
    model.begins.append(len(model.net.Proto().op))
    settings = recipe["optimizer"]
    if recipe.get("clip_norm"):
        clip(model, recipe["clip_norm"])
    if settings.get("weight_decay"):
        add_weight_decay(model, settings["weight_decay"])
    if has_fed_rate(recipe):
        add_update(model, settings)
        return model
    rate, momentum, nesterov = settings["learning_rate"], settings["momentum"], int(settings["nesterov"])
    optimizer.build_sgd(model, base_learning_rate=rate, policy="fixed", momentum=momentum, nesterov=nesterov)
    return model


def has_fed_rate(recipe):
    """Whether each step is fed its learning rate, as the "rate" of an update written out in operators.

    Caffe2's own momentum multiplies the rate into the velocity, which differs once the rate changes. Its Adam adds
    epsilon before the bias correction, its RMSprop inside the root.
    """
    return recipe["optimizer"]["kind"] != "sgd" or bool(recipe.get("schedule"))


ROLES = {"weight": "w", "bias": "b", "scale": "s", "shift": "b"}


class Trainer:
    """The two nets and their blobs, in Caffe2's one current workspace: a new Trainer replaces the previous one."""

    def __init__(self, network, recipe, weights, device, seed):
        require(device)
        if recipe["precision"] != "float32":
            message = "Caffe2's operators support only float32: Conv refuses %s" % recipe["precision"]
            raise RequestError("unsupported", message)
        workspace.ResetWorkspace()
        self.network, self.recipe = network, recipe
        numbers = np.random.RandomState(seed % 2**32).randint(1, 2**31, len(network["layers"]))
        seeds = {layer["name"]: int(number) for layer, number in zip(network["layers"], numbers)}
        self.model = _training_net(network, recipe, seeds)
        # It shares the parameters of the training net: its own initialisation net is never run.
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
                    # FC keeps (outputs, inputs); convolutions are canonical already.
                    yield "%s.%s" % (layer["name"], role), blob, layer["kind"] == "dense" and role == "weight"

    def _set(self, weights):
        for name, blob, transposed in self._natives():
            array, shape = weights[name].T if transposed else weights[name], workspace.FetchBlob(blob).shape
            if array.shape != shape:
                raise ValueError("%s: Caffe2 has shape %s, the weights have %s" % (name, shape, array.shape))
            workspace.FeedBlob(blob, np.ascontiguousarray(array, dtype=np.float32))

    def parameters(self):
        return {name: workspace.FetchBlob(b).shape[:: -1 if t else 1] for name, b, t in self._natives()}

    def array(self, name):
        return workspace.FetchBlob(next(blob for known, blob, _ in self._natives() if known == name))

    def describe(self):
        operators = self.model.net.Proto().op
        return "\n".join("%s: %s -> %s" % (op.type, ", ".join(op.input), ", ".join(op.output)) for op in operators)

    def load(self, inputs, labels, order, rates=None):
        self.feed(inputs, labels)
        self.order, self.rates = np.array(order, dtype=np.int32), rates

    def feed(self, inputs, labels):
        workspace.FeedBlob("images", np.ascontiguousarray(inputs, dtype=np.float32))
        workspace.FeedBlob("labels", self._labels(labels))

    def _labels(self, labels):
        if self.network["loss"] == "sigmoid_cross_entropy":
            return np.array(labels, dtype=np.float32).reshape(len(labels), -1)
        return np.array(labels, dtype=np.int32)

    def feed_step(self, number):
        """Feed what differs from step to step."""
        workspace.FeedBlob("index", self.order[number])
        if has_fed_rate(self.recipe):
            self._feed_rate(number)

    def step(self, number):
        self.feed_step(number)
        workspace.RunNet(self.model.net)
        return workspace.FetchBlob("loss")

    def _feed_rate(self, number):
        settings = self.recipe["optimizer"]
        rate = settings["learning_rate"] if self.rates is None else float(self.rates[number])
        self.taken += 1
        if settings["kind"] == "adam":
            rate /= 1 - settings["beta1"] ** self.taken
            correction = (1 - settings["beta2"] ** self.taken) ** -0.5
            workspace.FeedBlob("correction", np.array([correction], dtype=np.float32))
        # The update is added.
        workspace.FeedBlob("rate", np.array([-rate], dtype=np.float32))

    def outputs(self, inputs, batch_size):
        inputs = np.ascontiguousarray(inputs, dtype=np.float32)
        for first in range(0, len(inputs), batch_size):
            workspace.FeedBlob("data", inputs[first : first + batch_size])
            workspace.RunNet(self.test.net)
            yield workspace.FetchBlob(self.logits)


def require(device):
    """Raise RequestError for another device than the processor."""
    if device != "cpu":
        raise RequestError("unsupported", "the Caffe2 builder computes only on the CPU, not on %r" % device)
