"""Lasagne 0.1 on Theano 1.0: a stack of its layers, whose output theano.function compiles when the network is built."""

from functools import partial

import numpy as np

# Theano must know its BLAS before it is imported, and Lasagne needs what Theano no longer has: these two do that.
from dlworker.frameworks import theano as plain
from dlworker.frameworks.lasagne.layers import GATES, KINDS, build
from dlworker.frameworks.lasagne.optimizers import OPTIMIZERS
from dlworker.frameworks.theano.losses import LOSSES
from dlworker.frameworks.theano.optimizers import clipped

# isort: split
import lasagne
import theano
import theano.tensor as T  # noqa: N812 - the name it has in Theano's own documentation

SUPPORTS = {*KINDS, *LOSSES, *OPTIMIZERS, "schedule", "clip_norm", "lengths", "start", "pipeline"}


configure, threads = plain.configure, plain.threads


def versions():
    """Lasagne and the libraries below it."""
    return dict(plain.versions(), lasagne=lasagne.__version__)


ROLES = {"W": "weight", "b": "bias", "gamma": "scale", "beta": "shift"}
ROLES.update(("W_in_to_" + gate, "weight") for gate in GATES)
ROLES.update(("W_hid_to_" + gate, "recurrent") for gate in GATES)
ROLES.update(("b_" + gate, "bias") for gate in GATES)


def _canonical_name(parameter):
    """Lasagne names them layer.W and so on; several gates of an LSTM have one canonical name."""
    layer, role = parameter.name.split(".")
    return "%s.%s" % (layer, ROLES.get(role, role))


class Trainer(plain.Trainer):
    """The stack of layers, and the two compiled functions: one step, and the evaluation of one batch."""

    def __init__(self, network, recipe, weights, device, seed):
        plain.require(device)
        # The type of everything that Lasagne creates.
        theano.config.floatX = recipe["precision"]
        lasagne.random.set_rng(np.random.RandomState(seed))
        arrays = {} if weights is None else {name: np.array(weights[name], recipe["precision"]) for name in weights}
        self.network, self.stack = network, build(network, arrays)
        self.examples = plain.Examples(network, recipe["precision"])
        self._step = self._compiled_step(recipe)
        self._apply = self._compiled_evaluation()

    def _compiled_step(self, recipe):
        number, settings = T.lscalar(), recipe["optimizer"]
        index = self.examples.order[number]
        logits = lasagne.layers.get_output(self.stack, self.examples.inputs[index])
        loss = LOSSES[self.network["loss"]](self.network, logits, self.examples.labels[index])
        parameters = lasagne.layers.get_all_params(self.stack, trainable=True)
        gradients = T.grad(loss, parameters)
        if recipe.get("clip_norm"):
            # lasagne.updates.total_norm_constraint adds an epsilon to the norm; without one it divides by 0.
            gradients = clipped(gradients, recipe["clip_norm"])
        rate = self.examples.rates[number] if recipe.get("schedule") else settings["learning_rate"]
        updates = OPTIMIZERS[settings["kind"]](parameters, gradients, settings, rate)
        for layer in lasagne.layers.get_all_layers(self.stack):
            updates.update(getattr(layer, "moved", []))
        self.compile_step = partial(theano.function, [number], loss, updates=updates)
        return self.compile_step()

    def _compiled_evaluation(self):
        inputs = self.examples.inputs.type()
        return theano.function([inputs], lasagne.layers.get_output(self.stack, inputs, deterministic=True))

    def parameters(self):
        # Their layouts are canonical, except that each gate of an LSTM holds some of the canonical columns.
        shapes = {}
        for parameter in lasagne.layers.get_all_params(self.stack, trainable=True):
            name, shape = _canonical_name(parameter), parameter.get_value(borrow=True).shape
            shapes[name] = shape[:-1] + (shape[-1] + shapes[name][-1],) if name in shapes else shape
        return shapes

    def array(self, name):
        trained = lasagne.layers.get_all_params(self.stack, trainable=True)
        return np.concatenate([part.get_value().ravel() for part in trained if _canonical_name(part) == name])

    def describe(self):
        layers = lasagne.layers.get_all_layers(self.stack)
        return "\n".join("%-10s %s %s" % (layer.name, type(layer).__name__, layer.output_shape) for layer in layers)
