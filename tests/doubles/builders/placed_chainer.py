"""Chainer that computes on a device of this file, and checks that whatever a step computes with was sent there.

The device has NumPy's functions, and arrays of a class of its own: on a GPU, Chainer refuses functions of arrays that
are not all there. Gradients are functions of arrays that Chainer's own code makes where it computes.
"""

import chainer
import numpy as np
from chainer.function_node import FunctionNode
from dlworker.frameworks import chainer as builder
from dlworker.frameworks.chainer import SUPPORTS, configure, threads, versions

__all__ = ["SUPPORTS", "Trainer", "configure", "threads", "versions"]


class There(np.ndarray):
    """An array that was sent to the device, or computed from such arrays."""


class Elsewhere(chainer.backend.CpuDevice):
    def send_array(self, array):
        return np.array(array).view(There)

    def __eq__(self, other):
        return isinstance(other, Elsewhere)

    def __hash__(self):
        return hash("elsewhere")


def watching(call, misplaced):
    """A function of arrays like ``call``, which adds its name to ``misplaced`` if not all of them are on the device."""

    def apply(node, inputs):
        arrays = [value.array if isinstance(value, chainer.Variable) else value for value in inputs]
        # Zeros are the first state of an LSTM, which Chainer makes by itself, by the functions of the link's device.
        if not all(isinstance(array, There) or not array.any() for array in arrays if array is not None):
            misplaced.append(type(node).__name__)
        results = call(node, inputs)
        for result in results:
            result.array = result.array.view(There)
        return results

    return apply


builder.device_of = lambda device: Elsewhere()


class Trainer(builder.Trainer):
    def _logits(self, inputs, of_each, truth=None):
        """The forward pass of a step, and of an evaluation."""
        call, misplaced = FunctionNode.apply, []
        FunctionNode.apply = watching(call, misplaced)
        try:
            logits = super()._logits(inputs, of_each, truth)
        finally:
            FunctionNode.apply = call
        assert not misplaced, misplaced
        assert isinstance(logits.array, There)
        return logits

    def step(self, number):
        loss = super().step(number)
        slots = [parameter.update_rule.state.values() for parameter in self.model.params()]
        arrays = [parameter.array for parameter in self.model.params()] + [self.inputs, self.labels]
        arrays += [slot for each in slots for slot in each if isinstance(slot, np.ndarray)]
        assert {type(array) for array in arrays} == {There}
        return loss
