"""Optimisers as updates of Theano's shared variables. Import it only after the builder has set the flags."""

from collections import OrderedDict

import numpy as np
import theano
import theano.tensor as T  # noqa: N812 - the name it has in Theano's own documentation


def clipped(gradients, length):
    """The gradients, clipped by their global norm."""
    norm = T.sqrt(sum(T.sqr(gradient).sum() for gradient in gradients))
    # A norm of 0 makes this infinite, which minimum() replaces by 1.
    factor = T.minimum(1.0, length / norm)
    return [gradient * factor for gradient in gradients]


# For each optimiser, a function (parameters, gradients, settings, learning rate) -> updates, including its slots'.


def slot(parameter):
    """Zeros with the shape of a parameter."""
    return theano.shared(np.zeros_like(parameter.get_value()))


def sgd(parameters, gradients, settings, rate):
    updates = OrderedDict()
    for parameter, gradient in zip(parameters, gradients):
        step = velocity = gradient + settings["weight_decay"] * parameter if settings["weight_decay"] else gradient
        if settings["momentum"]:
            before = slot(parameter)
            velocity = updates[before] = settings["momentum"] * before + step
        step = step + settings["momentum"] * velocity if settings["nesterov"] else velocity
        updates[parameter] = parameter - rate * step
    return updates


def adam(parameters, gradients, settings, rate):
    beta1, beta2 = settings["beta1"], settings["beta2"]
    taken = theano.shared(np.array(0.0))
    updates = OrderedDict([(taken, taken + 1)])
    # In float64, whatever the precision: 1 minus a power of beta2 close to 1 loses most of its digits.
    corrections = [1 - np.float64(beta) ** updates[taken] for beta in (beta1, beta2)]
    first, second = (T.cast(correction, theano.config.floatX) for correction in corrections)
    for parameter, gradient in zip(parameters, gradients):
        mean, square = slot(parameter), slot(parameter)
        updates[mean] = beta1 * mean + (1 - beta1) * gradient
        updates[square] = beta2 * square + (1 - beta2) * T.sqr(gradient)
        root = T.sqrt(updates[square] / second) + settings["epsilon"]
        updates[parameter] = parameter - rate * (updates[mean] / first) / root
    return updates


def adadelta(parameters, gradients, settings, rate):
    rho, epsilon = settings["rho"], settings["epsilon"]
    updates = OrderedDict()
    for parameter, gradient in zip(parameters, gradients):
        square, moved = slot(parameter), slot(parameter)
        updates[square] = rho * square + (1 - rho) * T.sqr(gradient)
        step = T.sqrt(moved + epsilon) / T.sqrt(updates[square] + epsilon) * gradient
        updates[moved] = rho * moved + (1 - rho) * T.sqr(step)
        updates[parameter] = parameter - rate * step
    return updates


def rmsprop(parameters, gradients, settings, rate):
    updates = OrderedDict()
    for parameter, gradient in zip(parameters, gradients):
        square = slot(parameter)
        updates[square] = settings["rho"] * square + (1 - settings["rho"]) * T.sqr(gradient)
        updates[parameter] = parameter - rate * gradient / (T.sqrt(updates[square]) + settings["epsilon"])
    return updates


OPTIMIZERS = {"sgd": sgd, "adam": adam, "adadelta": adadelta, "rmsprop": rmsprop}
