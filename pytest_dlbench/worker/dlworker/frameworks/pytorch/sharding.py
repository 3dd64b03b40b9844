"""PyTorch's FSDP2: each worker keeps a part of every parameter, of its gradient and of the optimiser's state.

Parameters are gathered for the forward pass and again for the backward pass, which leaves each worker the mean
gradients of its parts.
"""

from collections import Counter

import torch
from torch import distributed

from dlworker.protocol import RequestError


def shard(model):
    """Divide the parameters of a model among the workers: layer by layer, so that one is gathered at a time."""
    try:
        from torch.distributed.fsdp import fully_shard  # noqa: PLC0415 - 2.6 is the first version that has it
    except ImportError:
        message = "exchange=sharded: PyTorch %s has no torch.distributed.fsdp.fully_shard; 2.6 is the first that has it"
        raise RequestError("unsupported", message % torch.__version__)
    mesh = distributed.device_mesh.init_device_mesh("cpu", (distributed.get_world_size(),))
    children = [child for child in model.children() if list(child.parameters())]
    uses = Counter(parameter for child in children for parameter in child.parameters())
    for child in children:
        # What layers share must be gathered once for both: the whole model does it.
        if all(uses[parameter] == 1 for parameter in child.parameters()):
            fully_shard(child, mesh=mesh)
    return fully_shard(model, mesh=mesh)


class Sharded:
    """What is unlike in a Trainer whose model is divided."""

    def __init__(self, model):
        self.model = model
        self.parts = [module for module in model.modules() if hasattr(module, "unshard")]
        self.gradients = None

    def gather(self):
        """Have all parameters in every worker until ``divide``; all workers gather together."""
        self.model.set_reshard_after_forward(False)
        for part in self.parts:
            part.unshard()

    def divide(self):
        """Leave each worker its parts, as ``fully_shard`` does after each forward pass but that of the whole model."""
        self.model.set_reshard_after_forward(True)
        self.model.set_reshard_after_forward(False, recurse=False)
        for part in self.parts:
            part.reshard()

    def separate(self, trained):
        """Have steps without any exchange from now on; they update by the gradients of the last one that had one."""
        if self.gradients is None:
            self.gradients = [parameter.grad for parameter in trained]
            self.gather()
            self.model.set_reshard_after_backward(False)
            self.model.set_requires_gradient_sync(False)

    def restore(self, trained):
        """Give parameters these gradients, where steps have no exchange."""
        for parameter, gradient in zip(trained, self.gradients or ()):
            parameter.grad = gradient


def whole(parameter):
    """A parameter of a divided model, put together; all workers do it together."""
    found = parameter.detach()
    return found.full_tensor() if hasattr(found, "full_tensor") else found
