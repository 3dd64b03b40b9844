"""The phases of MXNet's steps, imperative or hybridized. The KVStore exchanges gradients after the backward pass."""

from mxnet import nd

from dlworker import breakdown as phases
from dlworker.breakdown import UndividedError


def breakdown(trainer):
    """The phases: the engine queues them, and each is waited for; raises UndividedError for several devices."""
    if len(trainer.contexts) > 1:
        raise UndividedError("setting", "placement=one_process")
    return Phases(trainer)


class Phases(phases.Phases):
    """A step as ``Trainer.step`` takes it, with a wait after each phase."""

    def phases(self, number):
        trainer = self.trainer
        batch = trainer.batch(number)
        yield "input", batch[:1]
        loss = trainer.loss_of(*batch)
        yield "forward", [loss]
        loss.backward()
        yield "backward", [trainer.trained[0].grad()]
        trainer.set_rate(number)
        if trainer.exchanges:
            trainer.send_gradients()
            yield "exchange", [trainer.trained[0].grad()]
        trainer.apply()
        nd.waitall()
        trainer.statistics.move()
        yield "update", [trainer.trained[-1].data()]

    def wait(self, arrays):
        nd.waitall()

    def read(self, arrays):
        for array in arrays:
            array.asnumpy()
