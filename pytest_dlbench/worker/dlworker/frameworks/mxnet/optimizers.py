"""Optimisers for MXNet: its own where they compute the canonical update, otherwise the update written out.

MXNet's fused updates keep rate, decay and epsilon as float32 for all weights: float64 uses the written-out updates.
"""

from math import sqrt

import mxnet as mx
from mxnet import nd


class DecayedNAG(mx.optimizer.NAG):
    """NAG with weight decay in the whole gradient; MXNet's own has it in the velocity only."""

    def __init__(self, decay, **kwargs):
        super().__init__(**kwargs)
        self.decay = decay

    def update_multi_precision(self, index, weight, grad, state):
        grad += self.decay * weight
        super().update_multi_precision(index, weight, grad, state)


class CorrectedAdam(mx.optimizer.Adam):
    """MXNet's Adam adds epsilon before the bias correction, so it gets a corrected epsilon."""

    def __init__(self, epsilon, **kwargs):
        super().__init__(**kwargs)
        self.full_epsilon = epsilon

    def update(self, index, weight, grad, state):
        step = self._index_update_count.get(index, self.begin_num_update) + 1
        self.epsilon = self.full_epsilon * sqrt(1 - self.beta2**step)
        super().update(index, weight, grad, state)


class WrittenSGD(mx.optimizer.Optimizer):
    """SGD whose velocity excludes the learning rate; MXNet's includes past rates, which matters with a schedule."""

    def __init__(self, momentum, nesterov, **kwargs):
        super().__init__(**kwargs)
        self.momentum, self.nesterov = momentum, nesterov

    def create_state(self, index, weight):
        return nd.zeros_like(weight)

    def update(self, index, weight, grad, state):
        grad += self.wd * weight
        state *= self.momentum
        state += grad
        weight -= self.lr * (grad + self.momentum * state if self.nesterov else state)


class WrittenAdam(mx.optimizer.Optimizer):
    """Adam for float64."""

    def __init__(self, beta1, beta2, epsilon, **kwargs):
        super().__init__(**kwargs)
        self.beta1, self.beta2, self.epsilon = beta1, beta2, epsilon

    def create_state(self, index, weight):
        return nd.zeros_like(weight), nd.zeros_like(weight)

    def update(self, index, weight, grad, state):
        self._update_count(index)
        step = self._index_update_count[index]
        mean, square = state
        mean *= self.beta1
        mean += (1 - self.beta1) * grad
        square *= self.beta2
        square += (1 - self.beta2) * nd.square(grad)
        root = nd.sqrt(square / (1 - self.beta2**step)) + self.epsilon
        weight -= self.lr / (1 - self.beta1**step) * mean / root


class Decoupled:
    """Decays weights before the update of another optimiser; MXNet's Adam decays the gradient."""

    def __init__(self, weight_decay, **kwargs):
        super().__init__(**kwargs)
        self.decoupled = weight_decay

    def update(self, index, weight, grad, state):
        if len(weight.shape) > 1:
            weight *= 1 - self.lr * self.decoupled
        super().update(index, weight, grad, state)


class CorrectedAdamW(Decoupled, CorrectedAdam):
    """AdamW for float32."""


class WrittenAdamW(Decoupled, WrittenAdam):
    """AdamW for float64."""


class Adadelta(mx.optimizer.Optimizer):
    """AdaDelta with a learning rate, which MXNet's lacks."""

    def __init__(self, rho, epsilon, **kwargs):
        super().__init__(**kwargs)
        self.rho, self.epsilon = rho, epsilon

    def create_state(self, index, weight):
        return nd.zeros_like(weight), nd.zeros_like(weight)

    def update(self, index, weight, grad, state):
        squares, changes = state
        squares *= self.rho
        squares += (1 - self.rho) * nd.square(grad)
        change = nd.sqrt(changes + self.epsilon) / nd.sqrt(squares + self.epsilon) * grad
        weight -= self.lr * change
        changes *= self.rho
        changes += (1 - self.rho) * nd.square(change)


class RMSprop(mx.optimizer.Optimizer):
    """RMSprop with epsilon outside the root; MXNet's has it inside."""

    def __init__(self, rho, epsilon, **kwargs):
        super().__init__(**kwargs)
        self.rho, self.epsilon = rho, epsilon

    def create_state(self, index, weight):
        return nd.zeros_like(weight)

    def update(self, index, weight, grad, state):
        state *= self.rho
        state += (1 - self.rho) * nd.square(grad)
        weight -= self.lr * grad / (nd.sqrt(state) + self.epsilon)


# For each optimiser, a function (recipe, settings). The learning rate may be set before each step.


def sgd(recipe, settings):
    rate, momentum, decay = (settings[name] for name in ("learning_rate", "momentum", "weight_decay"))
    if recipe["precision"] == "float64" or recipe.get("schedule"):
        return WrittenSGD(momentum, settings["nesterov"], learning_rate=rate, wd=decay)
    if not settings["nesterov"]:
        return mx.optimizer.SGD(learning_rate=rate, momentum=momentum, wd=decay)
    if decay:
        return DecayedNAG(decay, learning_rate=rate, momentum=momentum)
    return mx.optimizer.NAG(learning_rate=rate, momentum=momentum)


def adam(recipe, settings):
    return WrittenAdam(**settings) if recipe["precision"] == "float64" else CorrectedAdam(**settings)


def adamw(recipe, settings):
    return WrittenAdamW(**settings) if recipe["precision"] == "float64" else CorrectedAdamW(**settings)


OPTIMIZERS = {
    "sgd": sgd,
    "adam": adam,
    "adamw": adamw,
    "adadelta": lambda recipe, settings: Adadelta(**settings),
    "rmsprop": lambda recipe, settings: RMSprop(**settings),
}


def optimizer(recipe):
    settings = dict(recipe["optimizer"])
    return OPTIMIZERS[settings.pop("kind")](recipe, settings)


def clip(gradients, length):
    """Clip the gradients by their global norm, unlike gluon.utils.clip_global_norm without adding 1e-8 to it."""
    squares = nd.add_n(*[nd.dot(gradient.reshape(-1), gradient.reshape(-1)) for gradient in gradients])
    factor = nd.minimum(length / nd.sqrt(squares), 1.0)
    for gradient in gradients:
        gradient[:] = gradient * factor
