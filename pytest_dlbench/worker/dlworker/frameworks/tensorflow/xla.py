"""TensorFlow 2 with XLA: the step and the evaluation of the TensorFlow builder, each compiled."""

from dlworker import xla_flags
from dlworker.frameworks import tensorflow
from dlworker.frameworks.tensorflow import SUPPORTS as AS_GRAPHS
from dlworker.frameworks.tensorflow import configure, threads, versions

__all__ = ["SUPPORTS", "Trainer", "configure", "set_execution", "threads", "versions"]

SUPPORTS = {*AS_GRAPHS, "cuda_graphs"}


def set_execution(execution, device):
    """Turn these settings on for the process, and the others off, in TensorFlow and in XLA."""
    tensorflow.set_execution(execution, device)
    if device != "cpu":
        xla_flags.set_execution(execution)


class Trainer(tensorflow.Trainer):
    """The same network, compiled."""

    jit_compile = True
