"""TensorFlow 1's optimisers from a recipe's settings, changed where they differ from the canonical equations."""

import tensorflow as tf


class RMSpropOptimizer(tf.train.Optimizer):
    """In separate operations: TensorFlow's has epsilon inside the root."""

    def __init__(self, rate, rho, epsilon):
        super().__init__(use_locking=False, name="RMSprop")
        self.rate, self.rho, self.epsilon = rate, rho, epsilon

    def _create_slots(self, variables):
        for variable in variables:
            self._zeros_slot(variable, "squares", self.get_name())

    def _apply_dense(self, gradient, variable):
        squares = self.get_slot(variable, "squares")
        new = squares.assign(self.rho * squares + (1 - self.rho) * tf.square(gradient))
        return variable.assign_sub(self.rate * gradient / (tf.sqrt(new) + self.epsilon)).op


# For each optimiser, a function (rate, settings, settings as tensors, number of previous steps).


def sgd(rate, settings, numbers, step):
    if settings["momentum"]:
        return tf.train.MomentumOptimizer(rate, numbers["momentum"], use_nesterov=settings["nesterov"])
    return tf.train.GradientDescentOptimizer(rate)


def adam(rate, settings, numbers, step):
    # TensorFlow adds epsilon before the bias correction.
    correction = tf.sqrt(1 - numbers["beta2"] ** tf.cast(step + 1, rate.dtype))
    return tf.train.AdamOptimizer(rate, numbers["beta1"], numbers["beta2"], numbers["epsilon"] * correction)


def adadelta(rate, settings, numbers, step):
    return tf.train.AdadeltaOptimizer(rate, numbers["rho"], numbers["epsilon"])


def rmsprop(rate, settings, numbers, step):
    return RMSpropOptimizer(rate, numbers["rho"], numbers["epsilon"])


OPTIMIZERS = {"sgd": sgd, "adam": adam, "adadelta": adadelta, "rmsprop": rmsprop}


def optimizer_of(settings, rate, step):
    """The optimiser; ``step`` is the number of previous steps."""
    # TensorFlow would convert a Python number to float32, whatever the variables are.
    numbers = {name: tf.constant(value, rate.dtype) for name, value in settings.items() if name != "kind"}
    return OPTIMIZERS[settings["kind"]](rate, settings, numbers, step)
