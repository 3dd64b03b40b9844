"""Lasagne's updates, changed where their equations differ from the canonical ones."""

import numpy as np

# Lasagne needs a module that Theano no longer has: layers.py, imported first, supplies it.
from dlworker.frameworks.theano import optimizers as theano_optimizers

# isort: split
import lasagne
import theano
import theano.tensor as T  # noqa: N812 - the name it has in Theano's own documentation


def sgd(parameters, gradients, settings, rate):
    if isinstance(rate, T.TensorVariable):
        # Lasagne's velocity is ours times minus the learning rate, which must therefore be constant.
        return theano_optimizers.sgd(parameters, gradients, settings, rate)
    if settings["weight_decay"]:
        gradients = [gradient + settings["weight_decay"] * p for gradient, p in zip(gradients, parameters)]
    if settings["nesterov"]:
        return lasagne.updates.nesterov_momentum(gradients, parameters, rate, settings["momentum"])
    if settings["momentum"]:
        return lasagne.updates.momentum(gradients, parameters, rate, settings["momentum"])
    return lasagne.updates.sgd(gradients, parameters, rate)


def adam(parameters, gradients, settings, rate):
    # Lasagne adds epsilon before the bias correction, so it gets a corrected epsilon.
    taken = theano.shared(np.array(0.0))
    correction = T.cast(T.sqrt(1 - np.float64(settings["beta2"]) ** (taken + 1)), theano.config.floatX)
    betas, epsilon = (settings["beta1"], settings["beta2"]), settings["epsilon"] * correction
    updates = lasagne.updates.adam(gradients, parameters, rate, *betas, epsilon=epsilon)
    updates[taken] = taken + 1
    return updates


def adadelta(parameters, gradients, settings, rate):
    return lasagne.updates.adadelta(gradients, parameters, rate, settings["rho"], settings["epsilon"])


# Lasagne adds RMSprop's epsilon inside the root, which no setting can make equal to adding it outside.
OPTIMIZERS = {"sgd": sgd, "adam": adam, "adadelta": adadelta, "rmsprop": theano_optimizers.rmsprop}
