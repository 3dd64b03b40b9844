"""Single operators in PaddlePaddle, in dynamic mode: a backward pass computes only the gradients that are asked for.

Images are channels first, as in the networks.
"""

import numpy as np
import paddle
from paddle import nn
from paddle.nn import functional

from dlworker.frameworks.paddle import require
from dlworker.operators import Passes


def _gemm(operator, given):
    transposes = bool(operator["transposes_weights"]), bool(operator["transposes_data"])
    return lambda: paddle.matmul(given["weights"], given["data"], *transposes)


def _convolution(operator, given):
    settings = {"stride": operator["stride"], "padding": operator["padding"]}
    return lambda: functional.conv2d(given["data"], given["weights"], **settings)


def _recurrent(operator, given):
    units, zero = operator["units"], nn.initializer.Constant(0.0)
    # Its kernel always has biases, here zeros, and always computes their gradients.
    biases = {name: paddle.ParamAttr(initializer=zero) for name in ("bias_ih_attr", "bias_hh_attr")}
    layer = LAYERS[operator["cell"]](units, units, time_major=True, **biases)
    for name, own in (("weights", layer.weight_ih_l0), ("recurrent", layer.weight_hh_l0)):
        own.set_value(given[name])
        own.stop_gradient = given[name].stop_gradient
        # The gradient is by the layer's own array.
        given[name] = own
    return lambda: layer(given["data"])[0]


LAYERS = {"rnn": nn.SimpleRNN, "lstm": nn.LSTM, "gru": nn.GRU}
OPERATORS = {"gemm": _gemm, "convolution": _convolution, "recurrent": _recurrent}


def wait(results):
    """Wait for a GPU; on the CPU, results are computed when a call returns."""
    if results[0].place.is_gpu_place():
        paddle.device.synchronize()


class Operator(Passes):
    """The arrays of an operator on a device, and its passes."""

    def __init__(self, operator, arrays, device):
        super().__init__(operator)
        require(device)
        paddle.set_device(device)
        paddle.set_default_dtype("float32")
        self.arrays = {name: np.array(array) for name, array in arrays.items()}
        self.gradient = paddle.to_tensor(self.arrays.pop("gradient"))

    def _built(self, wanted):
        """A function that computes the output, and its tensors by name."""
        given = {name: paddle.to_tensor(array, stop_gradient=name not in wanted) for name, array in self.arrays.items()}
        return OPERATORS[self.operator["kind"]](self.operator, given), given

    def _forward(self):
        output, _ = self._built(())

        def compute():
            with paddle.no_grad():
                return (output(),)

        return compute

    def _backward(self, name, wanted):
        compute, given = self._built(wanted)
        by = [given[part] for part in wanted]

        def together():
            # The kernel of recurrent layers computes all gradients, which paddle.grad refuses, and only once.
            for part in by:
                part.clear_gradient(set_to_zero=False)
            output = compute()
            output.backward(self.gradient)
            return [output, *(part.grad for part in by)]

        if name == "forward_backward":
            return together
        output = compute()
        return lambda: paddle.grad(output, by, self.gradient, retain_graph=True)

    def computes_on(self):
        return ("gpu", paddle.device.cuda.get_device_name()) if self.gradient.place.is_gpu_place() else ("cpu", "")

    def read(self, names, results):
        return [np.array(result.numpy()) for result in results]
