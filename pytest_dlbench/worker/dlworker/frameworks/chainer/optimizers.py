"""Chainer's optimisers, and update rules where its own differ from the canonical update."""

from math import sqrt

import chainer
import numpy as np
from chainer.optimizers.ada_delta import AdaDeltaRule
from chainer.optimizers.momentum_sgd import MomentumSGDRule

from dlworker.frameworks.chainer.precision import GradientClipping


class SGDRule(MomentumSGDRule):
    """Momentum without the learning rate in the velocity, optionally Nesterov from the new velocity.

    The velocity of Chainer's MomentumSGD contains past learning rates, which matters when they change. NesterovAG adds
    momentum² times the new velocity, where its own source (arXiv 1212.0901) has the old one.
    """

    def update_core(self, param):
        velocity, grad, settings = self.state["v"], param.grad, self.hyperparam
        velocity *= settings.momentum
        velocity += grad
        param.data -= settings.lr * (grad + settings.momentum * velocity if settings.nesterov else velocity)


class SGD(chainer.optimizers.MomentumSGD):
    """MomentumSGD with an SGDRule for every parameter."""

    def __init__(self, lr, momentum, nesterov):
        super().__init__(lr, momentum)
        self.hyperparam.nesterov = nesterov

    def create_update_rule(self):
        return SGDRule(self.hyperparam)


class Adam(chainer.optimizers.Adam):
    """Chainer's Adam adds epsilon before the bias correction, so it gets a corrected epsilon."""

    def __init__(self, epsilon, **kwargs):
        super().__init__(**kwargs)
        self.epsilon = epsilon

    def update(self, *args, **kwargs):
        self.hyperparam.eps = self.epsilon * sqrt(1 - self.hyperparam.beta2 ** (self.t + 1))
        super().update(*args, **kwargs)


class RatedAdaDeltaRule(AdaDeltaRule):
    """AdaDelta with a learning rate, which Chainer's lacks."""

    def update_core(self, param):
        squares, changes, settings = self.state["msg"], self.state["msdx"], self.hyperparam
        squares *= settings.rho
        squares += (1 - settings.rho) * param.grad * param.grad
        change = np.sqrt((changes + settings.eps) / (squares + settings.eps)) * param.grad
        changes *= settings.rho
        changes += (1 - settings.rho) * change * change
        param.data -= settings.lr * change


class AdaDelta(chainer.optimizers.AdaDelta):
    """AdaDelta with a RatedAdaDeltaRule for every parameter."""

    lr = chainer.optimizer.HyperparameterProxy("lr")

    def __init__(self, lr, rho, eps):
        super().__init__(rho, eps)
        self.lr = lr

    def create_update_rule(self):
        return RatedAdaDeltaRule(self.hyperparam)


# For each optimiser, a function (settings, whether rates change) -> Chainer optimizer.


def sgd(settings, has_schedule):
    rate, momentum, nesterov = settings["learning_rate"], settings["momentum"], settings["nesterov"]
    if nesterov or (momentum and has_schedule):
        return SGD(rate, momentum, nesterov)
    return chainer.optimizers.MomentumSGD(rate, momentum) if momentum else chainer.optimizers.SGD(rate)


def adam(settings, has_schedule):
    rate, betas = settings["learning_rate"], {name: settings[name] for name in ("beta1", "beta2")}
    return Adam(settings["epsilon"], alpha=rate, **betas)


def adadelta(settings, has_schedule):
    return AdaDelta(settings["learning_rate"], settings["rho"], settings["epsilon"])


def rmsprop(settings, has_schedule):
    return chainer.optimizers.RMSprop(settings["learning_rate"], settings["rho"], settings["epsilon"])


OPTIMIZERS = {"sgd": sgd, "adam": adam, "adadelta": adadelta, "rmsprop": rmsprop}


def optimizer_of(model, recipe):
    """The recipe's optimiser, set up for a model."""
    settings = recipe["optimizer"]
    optimizer = OPTIMIZERS[settings["kind"]](settings, bool(recipe.get("schedule")))
    is_mixed = recipe["precision"] == "float16"
    if is_mixed:
        optimizer.use_fp32_update()
        optimizer.loss_scaling()
    optimizer.setup(model)
    if recipe.get("clip_norm"):
        clipping = GradientClipping if is_mixed else chainer.optimizer_hooks.GradientClipping
        optimizer.add_hook(clipping(recipe["clip_norm"]))
    if settings.get("weight_decay"):
        # A hook of each parameter, not of the optimiser: only the gradient of the loss is clipped and scaled.
        for parameter in model.params():
            parameter.update_rule.add_hook(chainer.optimizer_hooks.WeightDecay(settings["weight_decay"]))
    return optimizer


def set_rate(optimizer, rate):
    """Change the learning rate, which Adam calls alpha."""
    if isinstance(optimizer, Adam):
        optimizer.alpha = rate
    else:
        optimizer.lr = rate
