"""PyTorch with torch.compile in its default mode: the same nn.Sequential, compiled; the update stays eager."""

import torch

from dlworker.frameworks import pytorch
from dlworker.frameworks.pytorch import SUPPORTS as EAGER
from dlworker.frameworks.pytorch import configure, set_execution, threads, versions
from dlworker.protocol import RequestError

__all__ = ["SUPPORTS", "Trainer", "configure", "set_execution", "threads", "versions"]

SUPPORTS = {*EAGER, "cuda_graphs"}

# On CPUs, PyTorch 2.13.0 miscompiles channels-last convolutions, its default: in convolution, activation, max pooling,
# flatten, dense, the activation's backward pass reads the pooling's gradient before it is written, so that the
# convolution's gradient is exactly zero.
ON_CPU = {"layout_optimization": False}


class Trainer(pytorch.Trainer):
    """The eager trainer with a compiled model.

    The first step compiles forward and backward. Evaluation compiles its own graphs, one for each batch size (including
    a smaller last one), within its own seconds; those of training are unaffected.
    """

    def __init__(self, network, recipe, weights, device, seed):
        if not hasattr(torch, "compile"):
            raise RequestError("unsupported", "torch %s has no torch.compile; 2.0 is the first" % torch.__version__)
        if device == "cpu" and recipe.get("channels_last"):
            message = "torch.compile computes wrong gradients of channels-last convolutions on CPUs (torch 2.13.0)"
            raise RequestError("unsupported", message)
        # All models share a limited number of compiled graphs per function; past it PyTorch silently runs eagerly.
        torch._dynamo.reset()
        self.options = ON_CPU if device == "cpu" else {"triton.cudagraphs": bool(recipe.get("cuda_graphs"))}
        super().__init__(network, recipe, weights, device, seed)

    def _called(self, model):
        # Otherwise a second batch size would make all later graphs dynamic, including those of later training.
        return torch.compile(model, dynamic=False, options=self.options)

    def describe(self):
        return "torch.compile:\n%s" % super().describe()
