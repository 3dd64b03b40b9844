"""A PyTorch that does one thing differently, named by the variable FAULT."""

import os

import torch
import torch.nn.functional as F  # noqa: N812 - the name it has everywhere
from dlworker.frameworks import pytorch
from dlworker.frameworks.pytorch import SUPPORTS, configure, threads, versions
from torch import nn

__all__ = ["SUPPORTS", "Trainer", "configure", "threads", "versions"]


def nesterov(trainer):
    trainer.optimizer.param_groups[0]["nesterov"] = True


def dampening(trainer):
    trainer.optimizer.param_groups[0]["dampening"] = 0.5


def unit_gain(trainer):
    # CNTK's default: the new gradient has the weight 1 - momentum.
    group = trainer.optimizer.param_groups[0]
    group["lr"] *= 1 - group["momentum"]


def no_weight_decay(trainer):
    trainer.optimizer.param_groups[0]["weight_decay"] = 0.0


def padding_on_the_other_side(trainer):
    for module in trainer.model.modules():
        if isinstance(module, nn.ConstantPad2d):
            left, right, top, bottom = module.padding
            module.padding = (right, left, bottom, top)


def batch_norm_momentum(trainer):
    for module in trainer.model.modules():
        if isinstance(module, nn.BatchNorm2d):
            module.momentum = 1 - module.momentum


class EveryMaximum(torch.autograd.Function):
    """Max pooling that passes the whole gradient to each of several equal maxima, like Caffe2."""

    @staticmethod
    def forward(context, x, window, stride):
        y = F.max_pool2d(x, window, stride)
        context.save_for_backward(x, y)
        context.window, context.stride = window, stride
        return y

    @staticmethod
    def backward(context, gradient):
        x, y = context.saved_tensors
        images, size = x.shape[0] * x.shape[1], x.shape[2:]
        values = F.unfold(x.reshape(images, 1, *size), context.window, stride=context.stride)
        is_largest = (values == y.reshape(images, 1, -1)).to(x.dtype)
        parts = is_largest * gradient.reshape(images, 1, -1)
        return F.fold(parts, size, context.window, stride=context.stride).view_as(x), None, None


def _pool(module):
    rows, columns = (module.padding, module.padding) if isinstance(module.padding, int) else module.padding

    def pool(x):
        padded = F.pad(x, (columns, columns, rows, rows), value=-float("inf"))
        return EveryMaximum.apply(padded, module.kernel_size, module.stride)

    return pool


def every_maximum(trainer):
    for module in trainer.model.modules():
        if isinstance(module, nn.MaxPool2d):
            module.forward = _pool(module)


FAULTS = {
    fault.__name__: fault
    for fault in (
        nesterov,
        dampening,
        unit_gain,
        no_weight_decay,
        padding_on_the_other_side,
        batch_norm_momentum,
        every_maximum,
    )
}


class Trainer(pytorch.Trainer):
    def __init__(self, *arguments):
        super().__init__(*arguments)
        self.fault = os.environ["FAULT"]
        FAULTS.get(self.fault, lambda trainer: None)(self)

    def outputs(self, inputs, batch_size):
        if self.fault == "last_batch_dropped":
            return super().outputs(inputs[:-7], batch_size)
        if self.fault == "dropout_left_on":
            self.model.eval = self.model.train
            torch.manual_seed(torch.seed())
        return super().outputs(inputs, batch_size)
