"""PyTorch with torch.compile in its default mode: the same nn.Sequential, compiled; the update stays eager."""

import torch

from dlworker.frameworks import pytorch
from dlworker.frameworks.pytorch import SUPPORTS, configure, threads, versions
from dlworker.protocol import RequestError

__all__ = ["SUPPORTS", "Trainer", "configure", "threads", "versions"]

# Convolutions as channels last, the default, are miscompiled by PyTorch 2.13.0: behind convolution, activation, max
# pooling, flattening and dense, the activation's backward reads the pooling's gradient before it is written, so that
# the convolution's gradient is exactly zero.
OPTIONS = {"layout_optimization": False}


class Trainer(pytorch.Trainer):
    """The eager trainer with a compiled model.

    The first step compiles forward and backward. Evaluation compiles graphs of its own, one for each size of batch
    (a last, smaller one too), within its own seconds; those of training stay as they are.
    """

    def __init__(self, network, recipe, weights, device, seed):
        if not hasattr(torch, "compile"):
            raise RequestError("unsupported", "torch %s has no torch.compile; 2.0 is the first" % torch.__version__)
        # All models share a few compiled graphs for each function; beyond, PyTorch goes on eagerly without an error.
        torch._dynamo.reset()
        super().__init__(network, recipe, weights, device, seed)
        # A second size of batch would else make all later graphs dynamic: training's, too, if it came after.
        self.forward = torch.compile(self.model, dynamic=False, options=OPTIONS)

    def describe(self):
        return "torch.compile:\n%s" % super().describe()
