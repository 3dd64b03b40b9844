"""The phases of Paddle's steps. DataParallel exchanges gradients during the backward pass."""

import paddle

from dlworker import breakdown as phases


def breakdown(trainer):
    """The phases, which dynamic mode computes one after the other."""
    return Phases(trainer)


class Phases(phases.Phases):
    """A step as ``Trainer.step`` takes it."""

    def phases(self, number):
        trainer = self.trainer
        exchanges = isinstance(trainer.forward, paddle.DataParallel)
        first, *_, last = trainer.trained
        for index in trainer.parts(number):
            batch = trainer.batch(index)
            yield "input", batch[:1]
            loss = trainer.loss_of(*batch)
            yield "forward", [loss]
            trainer.backward(loss)
            yield "backward_exchange" if exchanges else "backward", [first.grad]
        trainer.change(number)
        yield "update", [last]

    def wait(self, arrays):
        if paddle.device.get_device() != "cpu":
            paddle.device.synchronize()

    def read(self, arrays):
        for array in arrays:
            array.numpy()
