"""PyTorch's layers one by one: each module gets a detached input, at which autograd's way back ends."""

import torch

from dlworker import layerwise as base
from dlworker.breakdown import UndividedError


def layerwise(trainer):
    """The layers; raises UndividedError for a network that is compiled as a whole, for parts of batches and workers."""
    if trainer.accumulation > 1:
        raise UndividedError("setting", "accumulation")
    if hasattr(trainer, "exchanging"):
        raise UndividedError("setting", "workers")
    if trainer.forward is not trainer.model:
        raise UndividedError("one_program", "torch.compile")
    return Layers(trainer)


class Layers(base.Layers):
    """The modules of the trainer's own network."""

    def batch(self, number):
        (rows,) = self.trainer.parts(number)
        return self.trainer.batch(*rows)[:2]

    def _modules(self, layer):
        """The module of a layer, after the one that pads its input, if any."""
        names = layer["name"] + "_pad", layer["name"]
        return [getattr(self.trainer.model, name) for name in names if hasattr(self.trainer.model, name)]

    def forward(self, layer, values, is_first):
        given = [value.detach().requires_grad_(not is_first) for value in values]
        first, *others = self._modules(layer)
        with self.trainer.mixed():
            output = first(*given)
            for module in others:
                output = module(output)
        output = output[0] if layer["kind"] in ("lstm", "gru") else output
        own = [array for module in (first, *others) for array in module.parameters() if array.requires_grad]
        return output, (output, given, own, is_first)

    def backward(self, kept, gradient):
        output, given, own, is_first = kept
        wanted = [*own, *([] if is_first else given)]
        found = torch.autograd.grad(output, wanted, gradient) if wanted else ()
        return [None] * len(given) if is_first else found[len(own) :]

    def loss(self, logits, labels):
        logits = logits.detach().requires_grad_()
        with self.trainer.mixed():
            loss = self.trainer.loss(logits, labels)
        return loss, (logits, loss)

    def loss_gradient(self, kept):
        logits, loss = kept
        return torch.autograd.grad(loss, [logits])[0]

    def wait(self, computed):
        if self.trainer.device.type == "cuda":
            torch.cuda.synchronize(self.trainer.device)
