"""The phases of MLX's steps, compiled apart from each other. Its gradients are computed together with the loss."""

from functools import partial

import mlx.core as mx
import numpy as np
from mlx import nn

from dlworker import breakdown as phases
from dlworker.breakdown import require_unscaled_loss


def breakdown(trainer):
    """The phases; raises UndividedError for a scaled loss."""
    require_unscaled_loss(trainer)
    return Phases(trainer)


class Phases(phases.Phases):
    """A step as two programs, after the batch was selected."""

    def __init__(self, trainer):
        super().__init__(trainer)
        compiled = partial(mx.compile, inputs=trainer.state, outputs=trainer.state)
        self._gradients = compiled(nn.value_and_grad(trainer.model, trainer.loss_of))
        self._update = compiled(trainer.change)

    def phases(self, number):
        trainer = self.trainer
        index = trainer.order[number]
        if trainer.rates is not None:
            trainer.optimizer.learning_rate = float(trainer.rates[number])
        batch = trainer.inputs[index], trainer.labels[index]
        yield "input", batch
        loss, gradients = self._gradients(*batch)
        yield "forward_backward", [loss, gradients, trainer.state]
        self._update(gradients)
        yield "update", [trainer.state]

    def wait(self, arrays):
        # Nothing is computed before.
        mx.eval(*arrays)

    def read(self, arrays):
        np.array(arrays[0] if isinstance(arrays[0], mx.array) else self.trainer.array(self._smallest()))

    def _smallest(self):
        shapes = self.trainer.parameters()
        return min(shapes, key=lambda name: np.prod(shapes[name]))
