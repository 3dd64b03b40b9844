"""MultiWorkerMirroredStrategy between two programs of XLA, which has no exchange among hosts for processors."""

import tensorflow as tf

from dlworker.frameworks.tensorflow import parallel, xla
from dlworker.frameworks.tensorflow.parallel import OF_EACH, join, leave

__all__ = ["OF_EACH", "Trainer", "join", "leave"]


class Trainer(parallel.Trainer, xla.Trainer):
    """The network in one of several workers: XLA compiles what computes the gradients, and what uses their mean."""

    def __init__(self, network, recipe, weights, device, seed, group):
        super().__init__(network, recipe, weights, device, seed, group)
        parts = (self._update.python_function, None), (self.gradients, True), (self.change, True)
        made = (tf.function(part, autograph=False, jit_compile=compiled) for part, compiled in parts)
        self._update, self.gradients, self.change = made
