"""CNTK's own learners, and updates written in its operations where those differ from the canonical ones.

An update is a function (settings, values of the step, parameter, gradient) -> assignment of the parameter.
"""

import cntk as C  # noqa: N812 - the name it has in CNTK's own tutorials
import numpy as np


def slot(parameter):
    """Zeros with the shape of a parameter."""
    return C.constant(0, shape=parameter.shape, dtype=parameter.dtype)


def sgd(settings, now, p, gradient):
    if settings["weight_decay"]:
        gradient = gradient + settings["weight_decay"] * p
    step = gradient
    if settings["momentum"]:
        before = slot(p)
        step = velocity = C.assign(before, settings["momentum"] * before + gradient)
        if settings["nesterov"]:
            step = gradient + settings["momentum"] * velocity
    return C.assign(p, p - now["rate"] * step)


def adam(settings, now, p, gradient):
    mean, square = slot(p), slot(p)
    mean = C.assign(mean, settings["beta1"] * mean + (1 - settings["beta1"]) * gradient)
    square = C.assign(square, settings["beta2"] * square + (1 - settings["beta2"]) * C.square(gradient))
    root = C.sqrt(square / now["second"]) + settings["epsilon"]
    return C.assign(p, p - now["rate"] * (mean / now["first"]) / root)


def adadelta(settings, now, p, gradient):
    square, moved, rho, epsilon = slot(p), slot(p), settings["rho"], settings["epsilon"]
    square = C.assign(square, rho * square + (1 - rho) * C.square(gradient))
    step = C.sqrt(moved + epsilon) / C.sqrt(square + epsilon) * gradient
    moved = C.assign(moved, rho * moved + (1 - rho) * C.square(step))
    # CNTK would prune an assignment that nothing depends on.
    return C.combine([C.assign(p, p - now["rate"] * step), moved])


def rmsprop(settings, now, p, gradient):
    square = slot(p)
    square = C.assign(square, settings["rho"] * square + (1 - settings["rho"]) * C.square(gradient))
    return C.assign(p, p - now["rate"] * gradient / (C.sqrt(square) + settings["epsilon"]))


OPTIMIZERS = {"sgd": sgd, "adam": adam, "adadelta": adadelta, "rmsprop": rmsprop}


def clipped(gradients, length):
    """The gradients, clipped by their global norm."""
    squares = [C.reduce_sum(C.square(gradient), axis=C.Axis.all_static_axes()) for gradient in gradients]
    factor = C.element_min(1.0, length / C.sqrt(sum(squares[1:], squares[0])))
    return [gradient * factor for gradient in gradients]


class OwnLearner:
    """What CNTK's learners lack: clipping by the global norm, and values that change from step to step.

    CNTK multiplies the rate into the velocity, so the rate must not change. Its Adam adds epsilon before the bias
    correction, and its RMSprop is a different method, which grows and shrinks its steps.
    """

    def __init__(self, parameters, recipe, answers, dtype):
        self.settings, self.answers, self.clip_norm = recipe["optimizer"], answers, recipe.get("clip_norm")
        self.now = {name: C.constant(1, shape=(), dtype=dtype) for name in ("rate", "first", "second")}
        self.dtype, self.taken = dtype, 0
        # CNTK counts arguments, and would count self, too.
        self.native = C.universal(lambda own, gradients: self._updates(own, gradients), parameters)  # noqa: PLW0108

    def _updates(self, parameters, gradients):
        # The trainer sums gradients over the answers of a minibatch.
        gradients = [gradient / self.answers for gradient in gradients]
        if self.clip_norm:
            gradients = clipped(gradients, self.clip_norm)
        rule = OPTIMIZERS[self.settings["kind"]]
        return C.combine([rule(self.settings, self.now, *pair) for pair in zip(parameters, gradients)])

    def before_step(self, rate):
        """Set the values that the next update reads."""
        self.taken += 1
        self._set("rate", rate)
        if self.settings["kind"] == "adam":
            self._set("first", 1 - self.settings["beta1"] ** self.taken)
            self._set("second", 1 - self.settings["beta2"] ** self.taken)

    def _set(self, name, value):
        self.now[name].set_value(C.NDArrayView.from_dense(np.array(value, self.dtype)))


class NativeLearner:
    """One of CNTK's own learners, with a constant rate.

    The trainer sums gradients over a minibatch: a rate declared for a minibatch of this size makes the sum a mean.
    """

    def __init__(self, parameters, settings, answers):
        rate = C.learning_parameter_schedule(settings["learning_rate"], minibatch_size=answers)
        self.native = NATIVE[settings["kind"]](parameters, settings, rate, answers)

    def before_step(self, rate):
        """Does nothing: the rate is constant."""


def native_sgd(parameters, settings, rate, answers):
    decay = settings["weight_decay"]
    if not settings["momentum"]:
        return C.sgd(parameters, rate, l2_regularization_weight=decay)
    momentum = C.momentum_schedule(settings["momentum"], minibatch_size=answers)
    kind = C.nesterov if settings["nesterov"] else C.momentum_sgd
    # By default the momentum has unit gain: the gradient would be scaled by 1 - momentum.
    return kind(parameters, rate, momentum, unit_gain=False, l2_regularization_weight=decay)


def native_adadelta(parameters, settings, rate, answers):
    # With its own minibatch size it would use the sum of the gradients, for which epsilon has another effect.
    ignore = C.learners.IGNORE
    return C.adadelta(parameters, rate, rho=settings["rho"], epsilon=settings["epsilon"], minibatch_size=ignore)


NATIVE = {"sgd": native_sgd, "adadelta": native_adadelta}
