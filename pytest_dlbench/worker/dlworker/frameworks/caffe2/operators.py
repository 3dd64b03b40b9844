"""Single operators in Caffe2, each pass a net of one operator of Caffe2, N×C×H×W, on the CPU.

There are no recurrent layers, as in the networks.
"""

from itertools import count

import numpy as np
from caffe2.python import core, workspace

from dlworker.frameworks.caffe2 import require
from dlworker.operators import Passes


def _gemm(operator):
    transposes = {"trans_a": int(operator["transposes_weights"]), "trans_b": int(operator["transposes_data"])}
    return "MatMul", ("weights", "data"), transposes


def _convolution(operator):
    settings = {"kernels": operator["kernel"], "strides": operator["stride"], "pads": 2 * operator["padding"]}
    settings = {name: list(value) for name, value in settings.items()}
    return "Conv", ("data", "weights"), dict(settings, no_bias=1, order="NCHW")


OPERATORS = {"gemm": _gemm, "convolution": _convolution}
NUMBERS = count()


def wait(results):
    """Does nothing: a net has run when the call returns."""


class Operator(Passes):
    """The blobs of an operator, whose names differ from those of others in Caffe2's one workspace, and its passes."""

    # Its one operator for both can omit the gradient by the data, but not that by the weights.
    OF_CONVOLUTION = "backward"

    def __init__(self, operator, arrays, device):
        super().__init__(operator)
        require(device)
        self.prefix = "operator%d/" % next(NUMBERS)
        for name, array in arrays.items():
            workspace.FeedBlob(self.prefix + name, np.ascontiguousarray(array))
        kind, self.inputs, settings = OPERATORS[operator["kind"]](operator)
        inputs = [self.prefix + name for name in self.inputs]
        self.native = core.CreateOperator(kind, inputs, [self.prefix + "output"], **settings)

    def _forward(self):
        return self._pass("forward", [self.native], [self.prefix + "output"])

    def _backward(self, name, wanted):
        operators, gradients = core.GradientRegistry.GetGradientForOp(self.native, [self.prefix + "gradient"])
        by = dict(zip(self.inputs, map(str, gradients)))
        made = [by[part] for part in wanted]
        return self._pass(name, [one for one in operators if set(one.output) & set(made)], made)

    def _pass(self, name, operators, made):
        net = core.Net(self.prefix + name)
        net.Proto().op.extend(operators)
        workspace.CreateNet(net)
        return lambda: workspace.RunNet(net) and made

    def computes_on(self):
        return "cpu", ""

    def read(self, names, results):
        return [workspace.FetchBlob(name) for name in results]
