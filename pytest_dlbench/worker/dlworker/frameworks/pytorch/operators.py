"""Single operators in PyTorch: each gradient is computed alone, from a graph in which only its array requires one."""

import numpy as np
import torch
from torch.nn import functional

from dlworker.operators import Passes


def _gemm(operator):
    def compute(data, weights):
        weights = weights.t() if operator["transposes_weights"] else weights
        return torch.mm(weights, data.t() if operator["transposes_data"] else data)

    return compute


def _convolution(operator):
    stride, padding = tuple(operator["stride"]), tuple(operator["padding"])
    return lambda data, weights: functional.conv2d(data, weights, None, stride, padding)


def _recurrent(operator):
    layer = {"rnn": torch.rnn_tanh, "lstm": torch.lstm, "gru": torch.gru}[operator["cell"]]

    def compute(data, weights, recurrent):
        first = data.new_zeros(1, data.shape[1], operator["units"])
        first = (first, first) if operator["cell"] == "lstm" else first
        # Without biases, one layer, no dropout, in training if gradients are, in one direction, steps first.
        is_training = torch.is_grad_enabled()
        return layer(data, first, [weights, recurrent], False, 1, 0.0, is_training, False, False)[0]

    return compute


OPERATORS = {"gemm": _gemm, "convolution": _convolution, "recurrent": _recurrent}


def wait(results):
    """Wait for a GPU; on the CPU, results are computed when a call returns."""
    if results[0].is_cuda:
        torch.cuda.synchronize(results[0].device)


class Operator(Passes):
    """The arrays of an operator on a device, and its passes."""

    # They need no output again: the graph has it.
    OF_RECURRENT = "backward"

    def __init__(self, operator, arrays, device):
        super().__init__(operator)
        self.device = torch.device(device.replace("gpu", "cuda"))
        tensors = {name: torch.from_numpy(np.array(array)).to(self.device) for name, array in arrays.items()}
        self.gradient = tensors.pop("gradient")
        self.tensors, self.compute = tensors, OPERATORS[operator["kind"]](operator)

    def _forward(self):
        def compute():
            with torch.no_grad():
                return (self.compute(**self.tensors),)

        return compute

    def _backward(self, _, names):
        leaves = {name: tensor.detach() for name, tensor in self.tensors.items()}
        for name in names:
            leaves[name].requires_grad_()
        output, wanted = self.compute(**leaves), [leaves[name] for name in names]
        return lambda: torch.autograd.grad(output, wanted, self.gradient, retain_graph=True)

    def computes_on(self):
        if self.device.type != "cuda":
            return self.device.type, ""
        return "gpu", torch.cuda.get_device_name(self.device)

    def read(self, names, results):
        return [result.detach().cpu().numpy().copy() for result in results]
