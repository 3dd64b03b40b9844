"""PyTorch with torch.compile and one planted graph break before the model."""

import torch
from dlworker.frameworks.pytorch import compile as compiling
from dlworker.frameworks.pytorch.compile import ON_CPU, SUPPORTS, configure, set_execution, threads, versions

__all__ = ["SUPPORTS", "Trainer", "configure", "set_execution", "threads", "versions"]


class Trainer(compiling.Trainer):
    def __init__(self, network, recipe, weights, device, seed):
        super().__init__(network, recipe, weights, device, seed)
        model = self.model

        def broken(inputs):
            inputs = inputs * 1.0
            torch._dynamo.graph_break()
            return model(inputs)

        self.forward = torch.compile(broken, dynamic=False, options=ON_CPU)
