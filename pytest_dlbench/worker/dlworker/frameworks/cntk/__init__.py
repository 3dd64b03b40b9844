"""CNTK 2: a graph of cntk.layers, trained by a Trainer that is fed a minibatch of NumPy arrays in each step.

Images are channels first and dense weights (inputs, outputs): CNTK's own layout is the canonical one.
"""

import warnings

import numpy as np

from dlworker.protocol import RequestError

with warnings.catch_warnings():
    # It warns about every Linux except Ubuntu 16.04, and about CUDA libraries, which its CPU build does not use.
    warnings.simplefilter("ignore")
    import cntk as C  # noqa: N812 - the name it has in CNTK's own tutorials

from dlworker.frameworks.cntk.layers import KINDS, Network, Tokens, cntk_gates
from dlworker.frameworks.cntk.losses import LOSSES
from dlworker.frameworks.cntk.optimizers import NATIVE, OPTIMIZERS, NativeLearner, OwnLearner

SUPPORTS = {*KINDS, *LOSSES, *OPTIMIZERS, "schedule", "clip_norm", "lengths", "start", "pipeline"}


def configure(threads):
    """Set the threads of its OpenMP runtime, which its own kernels and MKL use."""
    C.cntk_py.set_max_num_cputhreads(threads)


def threads():
    """The maximum number of threads of that runtime, as CNTK reports it."""
    return C.cntk_py.get_max_num_cputhreads()


def versions():
    """CNTK only: MKL and OpenMP are inside the wheel and report no version."""
    return {"cntk": C.__version__.strip()}


def require(device):
    """Use the CPU; raise RequestError for another device."""
    if device != "cpu":
        raise RequestError("unsupported", "the installed CNTK is a CPU build, which has no device %r" % device)
    C.device.try_set_default_device(C.device.cpu())


class Trainer:
    """The graph, its trainer and the examples."""

    def __init__(self, network, recipe, weights, device, seed):
        require(device)
        self.dtype, self.network, self.rate = np.dtype(recipe["precision"]).type, network, None
        with C.default_options(dtype=self.dtype):
            self.x = None if "vocabulary" in network else C.input_variable(network["input"])
            x = Tokens(0, network["input"][0]) if self.x is None else self.x
            built = Network(network, x, self.dtype, recipe["batch_size"], seed)
            self.logits, self.weights, self.sequences = built.logits, built.parameters, list(built.sequences.values())
            self.y = self._label_input()
            self._set(weights)
            self.losses = LOSSES[network["loss"]](network, self.logits, self.y)
            self._make_trainer(recipe)

    def _label_input(self):
        if self.network["loss"] != "sequence_cross_entropy":
            return C.input_variable(self.logits.shape)
        axis = self.logits.dynamic_axes[1]
        if any(row.padding is not None and row.variable.dynamic_axes[1] == axis for row in self.sequences):
            raise RequestError(
                "unsupported", "CNTK computes no steps after the end of a sequence, but these have labels"
            )
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
                # A convolution's bias has shape (channels, 1, 1).
                parameter.value = array.astype(self.dtype).reshape(parameter.shape)

    def parameters(self):
        shapes = {name: parameter.shape for name, parameter in self.weights.items()}
        return {name: shape[:1] if name.endswith(".bias") else shape for name, shape in shapes.items()}

    def array(self, name):
        return self.weights[name].value

    def describe(self):
        functions = C.logging.graph.depth_first_search(self.logits, lambda node: isinstance(node, C.Function), depth=0)
        return "\n".join(str(function) for function in reversed(functions))

    def load(self, inputs, labels, order, rates=None):
        self.feed(inputs, labels)
        self.order = np.array(order, dtype=np.int64)
        self.rates = rates

    def feed(self, inputs, labels):
        # CNTK keeps no data sets on its device: each step copies a minibatch from NumPy arrays.
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
        # The trainer divides a loss that is already the mean once more.
        return loss * self.trainer.previous_minibatch_sample_count if self.is_mean else loss

    def outputs(self, inputs, batch_size):
        inputs = np.array(inputs, dtype=self.dtype)
        for first in range(0, len(inputs), batch_size):
            # Outside a trainer, dropout is off and batch normalisation uses the running statistics. Sequences come as a
            # list of arrays, here of one length.
            yield np.array(self.logits.eval(self._arguments(inputs[first : first + batch_size])))
