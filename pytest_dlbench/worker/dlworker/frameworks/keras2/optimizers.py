"""Keras 2's optimisers, changed where their equations differ from the canonical ones."""

import keras
from keras import backend as K  # noqa: N812 - the name it has in Keras' own documentation


class DecayingSGD(keras.optimizers.SGD):
    """Keras's SGD with weight decay in the gradients: as a regularizer it would be part of the loss."""

    def __init__(self, weight_decay, **kwargs):
        super().__init__(**kwargs)
        self.weight_decay = weight_decay

    def get_gradients(self, loss, params):
        gradients = super().get_gradients(loss, params)
        if not self.weight_decay:
            return gradients
        return [gradient + self.weight_decay * p for gradient, p in zip(gradients, params)]


class ScheduledSGD(DecayingSGD):
    """SGD whose velocity excludes the learning rate. Keras's includes it, so that old gradients keep their old rate."""

    def get_updates(self, loss, params):
        self.updates, self.weights = [], [self.iterations]
        for p, gradient in zip(params, self.get_gradients(loss, params)):
            velocity = K.zeros(K.int_shape(p), dtype=K.dtype(p))
            moved = self.momentum * velocity + gradient
            step = gradient + self.momentum * moved if self.nesterov else moved
            self.weights.append(velocity)
            self.updates += [K.update(velocity, moved), K.update(p, p - self.lr * step)]
        return self.updates


class CorrectedAdam(keras.optimizers.Adam):
    """Adam that adds epsilon after the bias correction. Keras adds it before.

    On TensorFlow, Keras's Adam also reads the step count while updating it; here it is read after the update.
    """

    def get_updates(self, loss, params):
        counted = K.update_add(self.iterations, 1)
        # A Theano update is a pair of the variable and its new value.
        steps = K.cast(counted[1] if isinstance(counted, tuple) else counted, K.floatx())
        first, second = 1 - K.pow(self.beta_1, steps), 1 - K.pow(self.beta_2, steps)
        self.updates, self.weights = [counted], [self.iterations]
        for p, gradient in zip(params, self.get_gradients(loss, params)):
            m, v = (K.zeros(K.int_shape(p), dtype=K.dtype(p)) for _ in range(2))
            new_m = self.beta_1 * m + (1 - self.beta_1) * gradient
            new_v = self.beta_2 * v + (1 - self.beta_2) * K.square(gradient)
            new_p = p - self.lr * (new_m / first) / (K.sqrt(new_v / second) + self.epsilon)
            self.weights += [m, v]
            self.updates += [K.update(m, new_m), K.update(v, new_v), K.update(p, new_p)]
        return self.updates


# For each optimiser, a function (recipe, options) -> Keras optimizer.


def _sgd(recipe, options):
    settings = recipe["optimizer"]
    options.update(momentum=settings["momentum"], nesterov=settings["nesterov"])
    if recipe.get("schedule") and settings["momentum"]:
        return ScheduledSGD(settings["weight_decay"], **options)
    if settings["weight_decay"]:
        return DecayingSGD(settings["weight_decay"], **options)
    return keras.optimizers.SGD(**options)


def _adam(recipe, options):
    settings = recipe["optimizer"]
    betas = {"beta_1": settings["beta1"], "beta_2": settings["beta2"]}
    return CorrectedAdam(epsilon=settings["epsilon"], **betas, **options)


def _adadelta(recipe, options):
    settings = recipe["optimizer"]
    return keras.optimizers.Adadelta(rho=settings["rho"], epsilon=settings["epsilon"], **options)


def _rmsprop(recipe, options):
    settings = recipe["optimizer"]
    return keras.optimizers.RMSprop(rho=settings["rho"], epsilon=settings["epsilon"], **options)


OPTIMIZERS = {"sgd": _sgd, "adam": _adam, "adadelta": _adadelta, "rmsprop": _rmsprop}


def optimizer(recipe):
    """The recipe's optimiser. Keras clips the gradients by their global norm."""
    options = {"lr": recipe["optimizer"]["learning_rate"]}
    if recipe.get("clip_norm"):
        options["clipnorm"] = recipe["clip_norm"]
    return OPTIMIZERS[recipe["optimizer"]["kind"]](recipe, options)
