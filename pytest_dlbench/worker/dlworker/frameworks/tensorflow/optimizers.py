"""The optimisers of the TensorFlow 2 builder: each takes the settings and the variables, and updates the variables.

They use one fused operator per variable where TensorFlow has one for the canonical update.
"""

import tensorflow as tf


class Optimizer(tf.Module):
    """The number of ``slots`` per variable, and the update of each variable."""

    slots = 0

    def __init__(self, settings, variables):
        super().__init__(settings["kind"])
        self.dtype = variables[0].dtype
        self.settings, self.trained = settings, variables
        self.kept = [[tf.Variable(tf.zeros_like(v), trainable=False) for _ in range(self.slots)] for v in variables]

    def setting(self, name):
        # The raw operators would convert a Python number to float32, whatever the variables are.
        return tf.constant(self.settings[name], self.dtype)

    def apply(self, gradients, rate):
        for variable, kept, gradient in zip(self.trained, self.kept, gradients):
            self.update(variable, kept, gradient, rate)

    def scale(self, loss):
        """What to differentiate instead of the loss."""
        return loss

    def unscale(self, gradients):
        """The gradients of the loss."""
        return gradients


class SGD(Optimizer):
    """TensorFlow's Nesterov step is the neutral one: gradient + momentum * velocity."""

    def __init__(self, settings, variables):
        self.slots = 1 if settings["momentum"] else 0
        super().__init__(settings, variables)

    def update(self, variable, kept, gradient, rate):
        if self.settings["weight_decay"]:
            gradient = gradient + self.setting("weight_decay") * variable
        if not kept:
            tf.raw_ops.ResourceApplyGradientDescent(var=variable.handle, alpha=rate, delta=gradient)
            return
        tf.raw_ops.ResourceApplyMomentum(
            var=variable.handle,
            accum=kept[0].handle,
            lr=rate,
            grad=gradient,
            momentum=self.setting("momentum"),
            use_nesterov=self.settings["nesterov"],
        )


class Adam(Optimizer):
    slots = 2

    def __init__(self, settings, variables):
        super().__init__(settings, variables)
        self.taken = tf.Variable(tf.zeros([], self.dtype), trainable=False)

    def apply(self, gradients, rate):
        self.taken.assign_add(1.0)
        super().apply(gradients, rate)

    def update(self, variable, kept, gradient, rate):
        beta2_power = self.setting("beta2") ** self.taken
        tf.raw_ops.ResourceApplyAdam(
            var=variable.handle,
            m=kept[0].handle,
            v=kept[1].handle,
            beta1_power=self.setting("beta1") ** self.taken,
            beta2_power=beta2_power,
            lr=rate,
            beta1=self.setting("beta1"),
            beta2=self.setting("beta2"),
            # TensorFlow adds epsilon before the bias correction.
            epsilon=self.setting("epsilon") * tf.sqrt(1.0 - beta2_power),
            grad=gradient,
        )


class AdamW(Adam):
    """Adam after a decay of the weights, for which TensorFlow has no operator."""

    def update(self, variable, kept, gradient, rate):
        if len(variable.shape) > 1:
            variable.assign_sub(rate * self.setting("weight_decay") * variable)
        super().update(variable, kept, gradient, rate)


class Adadelta(Optimizer):
    slots = 2

    def update(self, variable, kept, gradient, rate):
        tf.raw_ops.ResourceApplyAdadelta(
            var=variable.handle,
            accum=kept[0].handle,
            accum_update=kept[1].handle,
            lr=rate,
            rho=self.setting("rho"),
            epsilon=self.setting("epsilon"),
            grad=gradient,
        )


class RMSprop(Optimizer):
    """In separate operations: TensorFlow's fused one has epsilon inside the root."""

    slots = 1

    def update(self, variable, kept, gradient, rate):
        rho, (squares,) = self.setting("rho"), kept
        squares.assign(rho * squares + (1 - rho) * tf.square(gradient))
        variable.assign_sub(rate * gradient / (tf.sqrt(squares) + self.setting("epsilon")))


OPTIMIZERS = {"sgd": SGD, "adam": Adam, "adamw": AdamW, "adadelta": Adadelta, "rmsprop": RMSprop}


class LossScaled(tf.Module):
    """Wraps an optimiser and scales the loss, because float16 gradients have no values below 6e-8.

    As with Keras's LossScaleOptimizer, a step whose gradients overflow is skipped and halves the scale, and after a
    number of good steps the scale doubles. All factors are powers of two, which change no digits.
    """

    first, good_steps = 2.0**15, 2000

    def __init__(self, optimizer):
        super().__init__("loss_scaled")
        self.optimizer = optimizer
        self.factor = tf.Variable(self.first, trainable=False)
        self.good = tf.Variable(tf.zeros([], tf.int64), trainable=False)

    def scale(self, loss):
        return loss * self.factor

    def unscale(self, gradients):
        return [gradient / self.factor for gradient in gradients]

    def apply(self, gradients, rate):
        finite = tf.reduce_all([tf.reduce_all(tf.math.is_finite(gradient)) for gradient in gradients])
        tf.cond(finite, lambda: self._take(gradients, rate), self._skip)

    def _take(self, gradients, rate):
        self.optimizer.apply(gradients, rate)
        good = self.good + 1
        grows = good == self.good_steps
        self.factor.assign(tf.where(grows, 2 * self.factor, self.factor))
        self.good.assign(tf.where(grows, tf.zeros_like(good), good))

    def _skip(self):
        self.factor.assign(self.factor / 2)
        self.good.assign(tf.zeros_like(self.good))
