"""The phases of tinygrad's steps, captured apart. Its gradients are scheduled together with the loss."""

from tinygrad import Context, Device, Tensor

from dlworker import breakdown as phases
from dlworker.breakdown import require_unscaled_loss
from dlworker.frameworks.tinygrad import captured


def breakdown(trainer):
    """The phases; raises UndividedError for a scaled loss."""
    require_unscaled_loss(trainer)
    return Phases(trainer)


class Phases(phases.Phases):
    """A step as two captured functions; the first one selects the batch, too."""

    def __init__(self, trainer):
        super().__init__(trainer)
        self._gradients, self._update = captured(self._computed), captured(trainer.change)

    @Context(TRAINING=1)
    def _computed(self, index):
        optimizer = self.trainer.optimizer
        optimizer.zero_grad()
        loss = self.trainer.loss_of(index).backward()
        gradients = [parameter.grad.contiguous() for parameter in optimizer.params]
        Tensor.realize(loss, *gradients, *optimizer.buffers)
        return [loss, *gradients]

    def phases(self, number):
        index, *rate = self.trainer.calls[number]
        loss, *gradients = self._gradients(index)
        yield "forward_backward", [loss]
        self._update(gradients, *rate)
        yield "update", self.trainer.optimizer.params[-1:]

    def wait(self, arrays):
        Device[Device.DEFAULT].synchronize()

    def read(self, arrays):
        for array in arrays:
            array.numpy()
