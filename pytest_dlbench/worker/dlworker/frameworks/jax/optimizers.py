"""Updates as optax transforms of a recipe's settings, without the learning rate, which the step multiplies in."""

import jax
import optax


def sgd(settings):
    # Plain SGD needs nothing besides the rate.
    decay = [optax.add_decayed_weights(settings["weight_decay"])] if settings["weight_decay"] else []
    trace = [optax.trace(decay=settings["momentum"], nesterov=settings["nesterov"])] if settings["momentum"] else []
    return decay + trace


def adam(settings):
    return [optax.scale_by_adam(b1=settings["beta1"], b2=settings["beta2"], eps=settings["epsilon"])]


def adamw(settings):
    def decays(weights):
        return jax.tree.map(lambda array: array.ndim > 1, weights)

    return adam(settings) + [optax.add_decayed_weights(settings["weight_decay"], mask=decays)]


def adadelta(settings):
    return [optax.scale_by_adadelta(rho=settings["rho"], eps=settings["epsilon"])]


def rmsprop(settings):
    return [optax.scale_by_rms(decay=settings["rho"], eps=settings["epsilon"], eps_in_sqrt=False)]


OPTIMIZERS = {"sgd": sgd, "adam": adam, "adamw": adamw, "adadelta": adadelta, "rmsprop": rmsprop}


def optimizer(recipe):
    """The transforms of a recipe, chained in order."""
    clip = [optax.clip_by_global_norm(recipe["clip_norm"])] if recipe.get("clip_norm") else []
    transforms = clip + OPTIMIZERS[recipe["optimizer"]["kind"]](recipe["optimizer"])
    return optax.chain(*transforms) if transforms else optax.identity()
