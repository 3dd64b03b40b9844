"""The phases of TensorFlow's steps, compiled apart from each other, but both passes together.

Called under a tape, a ``tf.function`` would have a program for each pass. But oneDNN's max pooling hands a workspace to
its gradient only within one graph: across two, TensorFlow 2.21 takes its own gradient instead, 30 times as long.
"""

import tensorflow as tf

from dlworker import breakdown as phases
from dlworker.breakdown import require_single_worker


def breakdown(trainer):
    """The phases; raises UndividedError for parts of batches and for several workers."""
    # The exchange is in the graph of the step.
    require_single_worker(trainer, hasattr(trainer, "exchanges"), "tf.function")
    return Phases(trainer)


class Phases(phases.Phases):
    """A step as three programs."""

    def __init__(self, trainer):
        super().__init__(trainer)
        self._select, self._change = self._compiled(self._selected), self._compiled(trainer.change)
        self._gradients = self._compiled(trainer.gradients)
        self.is_on_gpu = trainer.computes_on()[0] == "gpu"

    def _compiled(self, function):
        return tf.function(function, autograph=False, jit_compile=self.trainer.jit_compile)

    def _selected(self, inputs, labels, course, number):
        index, rate = (tf.gather(part, number) for part in course)
        return tf.gather(inputs, index), tf.gather(labels, index), rate

    def phases(self, number):
        trainer, number = self.trainer, tf.constant(number, tf.int64)
        x, y, rate = self._select(trainer.inputs, trainer.labels, trainer.course, number)
        yield "input", [x]
        loss, gradients = self._gradients(x, y, number)
        yield "forward_backward", [loss, gradients[0]]
        self._change(gradients, rate)
        yield "update", trainer.variables[-1:]

    def wait(self, arrays):
        # On a processor a function ends when its results are there.
        if self.is_on_gpu:
            tf.test.experimental.sync_devices()

    def read(self, arrays):
        for array in arrays:
            array.numpy()
