"""The same as of MXNet's other Trainer."""

from faulty_workers.summed_mxnet import install

__all__ = ["install"]
