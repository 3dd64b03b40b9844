"""The phases of Chainer's steps. ChainerMN exchanges gradients after the backward pass, before the update."""

import chainer
import numpy as np

from dlworker import breakdown as phases


def breakdown(trainer):
    """The phases, which Chainer computes one after the other."""
    return Phases(trainer)


class Phases(phases.Phases):
    """A step as ``Trainer.step`` takes it."""

    def phases(self, number):
        trainer = self.trainer
        first, *_, last = trainer.model.params()
        batch = trainer.batch(number)
        yield "input", batch[:1]
        loss = trainer.loss_of(*batch)
        yield "forward", [loss.array]
        trainer.backward(loss)
        yield "backward", [first.grad]
        trainer.set_rate(number)
        updating = trainer.optimizer
        if hasattr(updating, "actual_optimizer"):
            # What the update of several workers does, except at the very first.
            updating.communicator.multi_node_mean_grad(trainer.model, updating.zero_fill)
            yield "exchange", [first.grad]
            updating = updating.actual_optimizer
        updating.update()
        yield "update", [last.array]

    def wait(self, arrays):
        xp = self.trainer.device.xp
        if xp is not np:
            xp.cuda.get_current_stream().synchronize()

    def read(self, arrays):
        for array in arrays:
            np.array(chainer.get_device("@numpy").send(array))
