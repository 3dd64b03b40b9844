"""CNTK 2: a graph of cntk.layers, trained by a Trainer that is fed a minibatch of NumPy arrays a step.

Images are channels first and dense weights (inputs, outputs): CNTK's own layout is the canonical one.
"""

import warnings

import numpy as np

from dlworker.protocol import RequestError

with warnings.catch_warnings():
    # It warns of every Linux but Ubuntu 16.04, and of CUDA's libraries, which its CPU build does not use.
    warnings.simplefilter("ignore")
    import cntk as C  # noqa: N812 - the name it has in CNTK's own tutorials

from dlworker.frameworks.cntk.layers import Network, Tokens, cntk_gates

SUPPORTS = {
    "adadelta",
    "adam",
    "add",
    "avg_pool",
    "batch_norm",
    "clip_norm",
    "concat",
    "conv2d",
    "cut",
    "dense",
    "dropout",
    "embedding",
    "flatten",
    "grouped_conv2d",
    "gru",
    "lengths",
    "local_response_norm",
    "log_softmax",
    "lstm",
    "max_pool",
    "pad_channels",
    "pipeline",
    "relu",
    "rmsprop",
    "schedule",
    "sequence_cross_entropy",
    "sgd",
    "sigmoid",
    "sigmoid_cross_entropy",
    "softmax_cross_entropy",
    "start",
    "tanh",
}


def configure(threads):
    """Threads of its OpenMP runtime, which its own kernels and MKL use."""
    C.cntk_py.set_max_num_cputhreads(threads)


def threads():
    """The most threads of that runtime, as CNTK reads it back."""
    return C.cntk_py.get_max_num_cputhreads()


def versions():
    """CNTK alone: MKL and OpenMP are inside the wheel and tell no version."""
    return {"cntk": C.__version__.strip()}


def losses_of(network, logits, labels):
    """The loss of every answer."""
    if network["loss"] == "sigmoid_cross_entropy":
        return C.softplus(logits) - labels * logits
    if network["loss"] == "sequence_cross_entropy":
        labels = C.one_hot(labels, network["classes"], sparse_output=True)
    return C.cross_entropy_with_softmax(logits, labels)


# A rule of an update is a function (settings, numbers of the step, parameter, gradient) -> assignment of the parameter.


def slot(parameter):
    """Zeros of the shape of a parameter."""
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
    # What nothing is computed from would be left out.
    return C.combine([C.assign(p, p - now["rate"] * step), moved])


def rmsprop(settings, now, p, gradient):
    square = slot(p)
    square = C.assign(square, settings["rho"] * square + (1 - settings["rho"]) * C.square(gradient))
    return C.assign(p, p - now["rate"] * gradient / (C.sqrt(square) + settings["epsilon"]))


RULES = {"sgd": sgd, "adam": adam, "adadelta": adadelta, "rmsprop": rmsprop}


def clipped(gradients, length):
    """All gradients together no longer than this."""
    squares = [C.reduce_sum(C.square(gradient), axis=C.Axis.all_static_axes()) for gradient in gradients]
    factor = C.element_min(1.0, length / C.sqrt(sum(squares[1:], squares[0])))
    return [gradient * factor for gradient in gradients]


class OwnLearner:
    """What CNTK's learners are not: clipping by the norm of all gradients together, and what changes from step to step.

    The rate is a factor of CNTK's velocity, so that it must stay. Its Adam adds epsilon to the root before that is
    corrected, and its RMSprop is another method, which stretches and shrinks its steps.
    """

    def __init__(self, parameters, recipe, answers, dtype):
        self.settings, self.answers, self.clip_norm = recipe["optimizer"], answers, recipe.get("clip_norm")
        self.now = {name: C.constant(1, shape=(), dtype=dtype) for name in ("rate", "first", "second")}
        self.dtype, self.taken = dtype, 0
        # CNTK counts arguments, and would count self.
        self.native = C.universal(lambda own, gradients: self._updates(own, gradients), parameters)  # noqa: PLW0108

    def _updates(self, parameters, gradients):
        # The trainer sums gradients over the answers of a minibatch.
        gradients = [gradient / self.answers for gradient in gradients]
        if self.clip_norm:
            gradients = clipped(gradients, self.clip_norm)
        rule = RULES[self.settings["kind"]]
        return C.combine([rule(self.settings, self.now, *pair) for pair in zip(parameters, gradients)])

    def before_step(self, rate):
        """What the next update takes."""
        self.taken += 1
        self._set("rate", rate)
        if self.settings["kind"] == "adam":
            self._set("first", 1 - self.settings["beta1"] ** self.taken)
            self._set("second", 1 - self.settings["beta2"] ** self.taken)

    def _set(self, name, value):
        self.now[name].set_value(C.NDArrayView.from_dense(np.array(value, self.dtype)))


class NativeLearner:
    """One of CNTK's own, with a rate that stays.

    The trainer sums gradients over a minibatch: a rate that is said to be for one of this size makes it the mean.
    """

    def __init__(self, parameters, settings, answers):
        rate = C.learning_parameter_schedule(settings["learning_rate"], minibatch_size=answers)
        self.native = NATIVE[settings["kind"]](parameters, settings, rate, answers)

    def before_step(self, rate):
        """Nothing changes."""


def native_sgd(parameters, settings, rate, answers):
    decay = settings["weight_decay"]
    if not settings["momentum"]:
        return C.sgd(parameters, rate, l2_regularization_weight=decay)
    momentum = C.momentum_schedule(settings["momentum"], minibatch_size=answers)
    kind = C.nesterov if settings["nesterov"] else C.momentum_sgd
    # By default the momentum has unit gain: the gradient would be scaled by 1 - momentum.
    return kind(parameters, rate, momentum, unit_gain=False, l2_regularization_weight=decay)


def native_adadelta(parameters, settings, rate, answers):
    # With a size of its own it would take the sum of the gradients, which is not the same for epsilon.
    ignore = C.learners.IGNORE
    return C.adadelta(parameters, rate, rho=settings["rho"], epsilon=settings["epsilon"], minibatch_size=ignore)


NATIVE = {"sgd": native_sgd, "adadelta": native_adadelta}


class Trainer:
    """The graph, its trainer and the examples."""

    def __init__(self, network, recipe, weights, device, seed):
        if device != "cpu":
            raise RequestError("unsupported", "CNTK is installed as its CPU build, which has no device %r" % device)
        C.device.try_set_default_device(C.device.cpu())
        self.dtype, self.network, self.rate = np.dtype(recipe["precision"]).type, network, None
        with C.default_options(dtype=self.dtype):
            self.x = None if "vocabulary" in network else C.input_variable(network["input"])
            x = Tokens(0, network["input"][0]) if self.x is None else self.x
            built = Network(network, x, self.dtype, recipe["batch_size"], seed)
            self.logits, self.weights, self.sequences = built.logits, built.parameters, list(built.sequences.values())
            self.y = self._label_input()
            self._set(weights)
            self.losses = losses_of(network, self.logits, self.y)
            self._make_trainer(recipe)

    def _label_input(self):
        if self.network["loss"] != "sequence_cross_entropy":
            return C.input_variable(self.logits.shape)
        axis = self.logits.dynamic_axes[1]
        if any(row.padding is not None and row.variable.dynamic_axes[1] == axis for row in self.sequences):
            raise RequestError("unsupported", "CNTK computes no steps behind the end of a sequence, which have labels")
        return C.sequence.input_variable((), sequence_axis=axis)

    def _make_trainer(self, recipe):
        settings, answers, loss = recipe["optimizer"], recipe["batch_size"], self.losses
        if self.network["loss"] == "sigmoid_cross_entropy":
            loss = C.reduce_mean(loss, axis=0)
        elif self.network["loss"] == "sequence_cross_entropy":
            answers *= self.network["layers"][-1]["output"][0]
        self.is_mean = self.network.get("ignored") is not None
        if self.is_mean:
            counts = C.not_equal(self.y, self.network["ignored"])
            every = C.Axis.all_axes()
            loss, answers = C.reduce_sum(loss * counts, axis=every) / C.reduce_sum(counts, axis=every), 1
        parameters, scheduled = self.logits.parameters, recipe.get("schedule")
        is_native = settings["kind"] in NATIVE and not (scheduled or recipe.get("clip_norm") or self.is_mean)
        if is_native:
            self.learner = NativeLearner(parameters, settings, answers)
        else:
            self.learner = OwnLearner(parameters, recipe, answers, self.dtype)
        self.rate = settings["learning_rate"]
        self.trainer = C.Trainer(self.logits, (loss, None), [self.learner.native])

    def _set(self, weights):
        recurrent = {layer["name"] for layer in self.network["layers"] if layer["kind"] == "lstm"}
        for name, parameter in self.weights.items():
            if weights is not None:
                array = cntk_gates(weights[name]) if name.split(".")[0] in recurrent else weights[name]
                # A bias of a convolution is one value for each channel, row 1, column 1.
                parameter.value = array.astype(self.dtype).reshape(parameter.shape)

    def parameters(self):
        shapes = {name: parameter.shape for name, parameter in self.weights.items()}
        return {name: shape[:1] if name.endswith(".bias") else shape for name, shape in shapes.items()}

    def describe(self):
        functions = C.logging.graph.depth_first_search(self.logits, lambda node: isinstance(node, C.Function), depth=0)
        return "\n".join(str(function) for function in reversed(functions))

    def load(self, inputs, labels, order, rates=None):
        self.feed(inputs, labels)
        self.order = np.array(order, dtype=np.int64)
        self.rates = rates

    def feed(self, inputs, labels):
        # CNTK has no data sets on its device: a minibatch is copied from NumPy arrays in each step.
        self.inputs, self.labels = np.array(inputs, dtype=self.dtype), self._labels(np.asarray(labels))

    def _labels(self, labels):
        if self.network["loss"] == "softmax_cross_entropy":
            return np.eye(self.network["classes"], dtype=self.dtype)[labels]
        return labels.reshape(len(labels), -1).astype(self.dtype)

    def _arguments(self, inputs):
        if self.x is not None:
            return {self.x: inputs}
        return {sequences.variable: sequences.feed(inputs) for sequences in self.sequences}

    def step(self, number):
        index = self.order[number]
        self.learner.before_step(self.rate if self.rates is None else self.rates[number])
        arguments = self._arguments(self.inputs[index])
        arguments[self.y] = self.labels[index]
        self.trainer.train_minibatch(arguments)
        loss = self.trainer.previous_minibatch_loss_average
        # A loss that is the mean already is divided once more.
        return loss * self.trainer.previous_minibatch_sample_count if self.is_mean else loss

    def outputs(self, inputs, batch_size):
        inputs = np.array(inputs, dtype=self.dtype)
        for first in range(0, len(inputs), batch_size):
            # Out of a trainer, dropout is off and batch normalisation takes the running statistics. Of sequences there
            # is a list of arrays, here of one length.
            yield np.array(self.logits.eval(self._arguments(inputs[first : first + batch_size])))
