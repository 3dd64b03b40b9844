"""TensorFlow 2 with XLA: the step and the evaluation of the TensorFlow builder, each compiled."""

from dlworker.frameworks import tensorflow
from dlworker.frameworks.tensorflow import SUPPORTS, configure, threads, versions

__all__ = ["SUPPORTS", "Trainer", "configure", "threads", "versions"]


class Trainer(tensorflow.Trainer):
    """The same network, compiled."""

    jit_compile = True
