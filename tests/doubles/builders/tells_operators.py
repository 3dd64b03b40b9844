"""MXNet that describes the settings of its operators for batch normalisation, as they are in the graph."""

import mxnet as mx
from dlworker.frameworks import mxnet as builder
from dlworker.frameworks.mxnet import SUPPORTS, configure, threads, versions

__all__ = ["SUPPORTS", "Trainer", "configure", "threads", "versions"]


class Trainer(builder.Trainer):
    def describe(self):
        found = self.net(mx.sym.var("x")).attr_dict()
        return "\n".join(
            "BatchNorm: cudnn_off=%s" % attributes["cudnn_off"]
            for attributes in found.values()
            if "cudnn_off" in attributes
        )
