"""Keras 3's optimisers, changed where their equations differ from the canonical ones."""

import keras
import numpy as np
from keras import ops

BACKEND = keras.backend.backend()

if BACKEND == "torch":
    import torch
elif BACKEND == "tensorflow":
    import tensorflow as tf


def _exact(number):
    """Keras makes TensorFlow convert a plain number to float32, even where everything else is float64."""
    return np.float64(number) if keras.config.floatx() == "float64" else number


def _addends():
    """How many workers' gradients are added up where the optimiser takes them."""
    return tf.distribute.get_strategy().num_replicas_in_sync if BACKEND == "tensorflow" else 1


# On each backend Keras substitutes a class of its own for the requested optimiser: on PyTorch it updates all arrays at
# once, in _parallel_update_step; elsewhere update_step is called for each.


def coupled_sgd(decay, **options):
    """SGD whose weight decay is part of the gradient; Keras's own bypasses the momentum.

    A regulariser would have the same gradient, but train_on_batch would include its penalty in the loss.
    """

    class CoupledSGD(type(keras.optimizers.SGD())):
        def _backend_update_step(self, grads, trainable_variables, learning_rate):
            # At this point the gradients have been clipped, and on TensorFlow not yet added up over several workers.
            own = decay / _addends()
            decayed = [gradient + own * variable for gradient, variable in zip(grads, trainable_variables)]
            super()._backend_update_step(decayed, trainable_variables, learning_rate)

    return CoupledSGD(**options)


def scheduled_sgd(decay, **options):
    """SGD whose velocity excludes the learning rate. Keras's includes it, so that old gradients keep their old rate."""

    class ScheduledSGD(type(keras.optimizers.SGD())):
        def update_step(self, gradient, variable, learning_rate):
            rate, momentum = (ops.cast(value, variable.dtype) for value in (learning_rate, self.momentum))
            velocity = self.momentums[self._get_variable_index(variable)]
            if decay:
                gradient = gradient + decay * variable
            self.assign(velocity, momentum * velocity + gradient)
            self.assign_sub(variable, rate * (gradient + momentum * velocity if self.nesterov else velocity))

        def _parallel_update_step(self, grads, variables, learning_rate):
            velocities = [self.momentums[self._get_variable_index(variable)].value for variable in variables]
            values = [variable.value for variable in variables]
            if decay:
                grads = torch._foreach_add(grads, values, alpha=decay)
            torch._foreach_mul_(velocities, self.momentum)
            torch._foreach_add_(velocities, grads)
            steps = torch._foreach_add(grads, velocities, alpha=self.momentum) if self.nesterov else velocities
            torch._foreach_add_(values, steps, alpha=-learning_rate)

    return ScheduledSGD(**options)


def adam(epsilon, **options):
    """Adam that adds epsilon after the bias correction. Keras adds it before."""

    class CorrectedAdam(type(keras.optimizers.Adam())):
        @property
        def epsilon(self):
            steps = ops.cast(self.iterations + 1, keras.config.floatx())
            return self.after_correction * ops.sqrt(1 - ops.power(ops.cast(self.beta_2, steps.dtype), steps))

        @epsilon.setter
        def epsilon(self, value):
            self.after_correction = value

    return CorrectedAdam(epsilon=epsilon, **options)


def rmsprop(**options):
    """RMSprop that adds epsilon to the root; Keras adds it inside the root."""

    class RootedRMSprop(type(keras.optimizers.RMSprop())):
        def update_step(self, gradient, variable, learning_rate):
            squares = self._velocities[self._get_variable_index(variable)]
            self.assign(squares, self.rho * squares + (1 - self.rho) * ops.square(gradient))
            rate = ops.cast(learning_rate, variable.dtype)
            self.assign_sub(variable, rate * gradient / (ops.sqrt(squares) + self.epsilon))

        def _parallel_update_step(self, grads, variables, learning_rate):
            squares = [self._velocities[self._get_variable_index(variable)].value for variable in variables]
            torch._foreach_mul_(squares, self.rho)
            torch._foreach_addcmul_(squares, grads, grads, 1 - self.rho)
            roots = torch._foreach_add(torch._foreach_sqrt(squares), self.epsilon)
            torch._foreach_addcdiv_([variable.value for variable in variables], grads, roots, -float(learning_rate))

    return RootedRMSprop(**options)


# For each optimiser, a function (recipe, options) -> Keras optimizer.


def _sgd(recipe, options):
    settings = recipe["optimizer"]
    options.update(momentum=np.float64(settings["momentum"]), nesterov=settings["nesterov"])
    if recipe.get("schedule") and settings["momentum"]:
        return scheduled_sgd(settings["weight_decay"], **options)
    if settings["weight_decay"]:
        return coupled_sgd(settings["weight_decay"], **options)
    return keras.optimizers.SGD(**options)


def _adam(recipe, options):
    settings = recipe["optimizer"]
    betas = {name: _exact(settings[name.replace("_", "")]) for name in ("beta_1", "beta_2")}
    return adam(epsilon=settings["epsilon"], **betas, **options)


def _adamw(recipe, options):
    made = _adam(recipe, dict(options, weight_decay=_exact(recipe["optimizer"]["weight_decay"])))
    # By name: a GRU's biases have two axes in Keras. On TensorFlow the name starts with that of the layer.
    made.exclude_from_weight_decay(var_names=[r"\b(bias|beta|gamma)\b"])
    return made


def _adadelta(recipe, options):
    settings = recipe["optimizer"]
    return keras.optimizers.Adadelta(rho=settings["rho"], epsilon=settings["epsilon"], **options)


def _rmsprop(recipe, options):
    settings = recipe["optimizer"]
    return rmsprop(rho=settings["rho"], epsilon=settings["epsilon"], **options)


OPTIMIZERS = {"sgd": _sgd, "adam": _adam, "adamw": _adamw, "adadelta": _adadelta, "rmsprop": _rmsprop}


def optimizer(recipe):
    """The recipe's optimiser, to be compiled with the model. Keras clips gradients itself."""
    settings = recipe["optimizer"]
    options = {"learning_rate": settings["learning_rate"], "global_clipnorm": recipe.get("clip_norm")}
    return OPTIMIZERS[settings["kind"]](recipe, options)
