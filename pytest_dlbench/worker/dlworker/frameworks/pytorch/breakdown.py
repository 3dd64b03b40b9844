"""The phases of PyTorch's steps, by the functions that take them. DDP exchanges gradients during the backward pass."""

import torch

from dlworker import breakdown as phases
from dlworker.breakdown import UndividedError


def breakdown(trainer):
    """The phases, eager or compiled: torch.compile has programs of its own for the forward and the backward pass.

    Raises UndividedError where parameters are gathered during both.
    """
    if getattr(trainer, "sharded", None):
        raise UndividedError("setting", "exchange=sharded")
    return Phases(trainer)


class Phases(phases.Phases):
    """A step as ``Trainer.step`` takes it."""

    def phases(self, number):
        trainer = self.trainer
        exchanges = hasattr(trainer, "exchanging")
        trainer.optimizer.zero_grad()
        yield "update", ()
        for rows in trainer.parts(number):
            batch = trainer.batch(*rows)
            yield "input", batch[:1]
            loss = trainer.loss_of(*batch)
            yield "forward", [loss]
            trainer.backward(loss)
            yield "backward_exchange" if exchanges else "backward", [trainer.trained[0].grad]
        trainer.change(number)
        yield "update", trainer.trained[-1:]

    def wait(self, arrays):
        if self.trainer.device.type == "cuda":
            torch.cuda.synchronize(self.trainer.device)

    def read(self, arrays):
        for array in arrays:
            array.detach().cpu().numpy()
