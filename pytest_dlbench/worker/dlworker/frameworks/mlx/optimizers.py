"""MLX's optimisers from a recipe's settings, and gradient clipping."""

import mlx.core as mx
from mlx import optimizers
from mlx.utils import tree_map, tree_reduce


def clip(gradients, length):
    """Clip the gradients by their global norm, unlike optimizers.clip_grad_norm without adding 1e-6 to it."""
    squares = tree_reduce(lambda total, gradient: total + mx.square(gradient).sum(), gradients, mx.array(0.0))
    factor = mx.minimum(length / mx.sqrt(squares), 1.0)
    return tree_map(lambda gradient: gradient * factor, gradients)


class AdamW(optimizers.AdamW):
    """MLX's own, which decays all arrays, here only for those of two or more axes."""

    def apply_single(self, gradient, parameter, state):
        own = super() if parameter.ndim > 1 else super(optimizers.AdamW, self)
        return own.apply_single(gradient, parameter, state)


def sgd(settings):
    return optimizers.SGD(
        learning_rate=settings["learning_rate"],
        momentum=settings["momentum"],
        nesterov=settings["nesterov"],
        weight_decay=settings["weight_decay"],
    )


def adam(settings):
    betas = [settings["beta1"], settings["beta2"]]
    return optimizers.Adam(settings["learning_rate"], betas, settings["epsilon"], bias_correction=True)


def adamw(settings):
    betas = [settings["beta1"], settings["beta2"]]
    decay = {"weight_decay": settings["weight_decay"], "bias_correction": True}
    return AdamW(settings["learning_rate"], betas, settings["epsilon"], **decay)


def adadelta(settings):
    return optimizers.AdaDelta(settings["learning_rate"], settings["rho"], settings["epsilon"])


def rmsprop(settings):
    return optimizers.RMSprop(settings["learning_rate"], settings["rho"], settings["epsilon"])


OPTIMIZERS = {"sgd": sgd, "adam": adam, "adamw": adamw, "adadelta": adadelta, "rmsprop": rmsprop}
