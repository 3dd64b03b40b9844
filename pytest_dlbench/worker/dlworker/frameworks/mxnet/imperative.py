"""MXNet without hybridize(): every operator is called from Python, forward and backward."""

from dlworker.frameworks import mxnet
from dlworker.frameworks.mxnet import SUPPORTS, configure, threads, versions

__all__ = ["SUPPORTS", "Trainer", "configure", "threads", "versions"]


class Trainer(mxnet.Trainer):
    """The same blocks, run imperatively."""

    hybrid = False
