"""MXNet without hybridize(): every operator is called from Python, forward and backward."""

from dlworker.frameworks import mxnet
from dlworker.frameworks.mxnet import SUPPORTS, configure, set_execution, threads, versions

__all__ = ["SUPPORTS", "Trainer", "configure", "set_execution", "threads", "versions"]


class Trainer(mxnet.Trainer):
    """The same blocks, run imperatively."""

    hybrid = False
