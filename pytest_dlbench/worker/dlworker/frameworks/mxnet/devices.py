"""MXNet's KVStore in one process: it adds up gradients of several devices, each of which has a part of the batch."""

import mxnet as mx
from mxnet import autograd, gluon, nd

from dlworker.frameworks import mxnet as builder
from dlworker.frameworks.mxnet.optimizers import clip

OF_EACH = ("batch_norm", "dropout", "detections")
EXCHANGES = ("device",)
EXACT = ("device",)


def join(group):
    """Does nothing: MXNet takes any number of a device of the processor, each with threads of its own."""


def leave():
    """Wait for all devices."""
    nd.waitall()


class Trainer(builder.Trainer):
    """The network on several devices. Batch normalisation uses each one's part of the batch."""

    factors = None

    def __init__(self, network, recipe, weights, device, seed, group):
        self.workers = group["workers"]
        # The usual store adds up in the processor's memory, this one where the arrays are.
        kind = "device" if group["exchange"] == "device" else "local"
        self.store = {"kvstore": kind, "update_on_kvstore": False}
        self.exchanges = True
        super().__init__(network, recipe, weights, device, seed)

    def _contexts(self, device):
        return [mx.Context(device, number) for number in range(self.workers)]

    def load(self, inputs, labels, order, rates=None):
        super().load(inputs, labels, order, rates)
        self.statistics.expect(self.order.shape[1] // self.workers)

    def step(self, number):
        parts = zip(*(gluon.utils.split_and_load(array, self.contexts) for array in self.batch(number)))
        with autograd.record():
            losses = [self.loss_of(*part) * self._share(place, number) for place, part in enumerate(parts)]
        autograd.backward(losses)
        self.set_rate(number)
        if self.exchanges:
            self.trainer.allreduce_grads()
        self.apply()
        nd.waitall()
        self.statistics.move()
        return sum(loss.asscalar() for loss in losses)

    def _share(self, place, number):
        """That of a device's mean loss in the loss of the batch: it is larger where more of its labels count."""
        return (1.0 if self.factors is None else float(self.factors[number, place])) / self.workers

    def apply(self):
        if self.clip_norm:
            for of_device in zip(*(parameter.list_grad() for parameter in self.trained)):
                clip(of_device, self.clip_norm)
        self.trainer.update(1)

    def step_alone(self, number):
        self.exchanges = False
        try:
            return self.step(number)
        finally:
            self.exchanges = True

    def copies(self, name):
        """A parameter as each device has it."""
        found = next(parameter for known, parameter, _ in self._natives() if known == name)
        return [array.asnumpy() for array in found.list_data()]
