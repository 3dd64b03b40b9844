"""PyTorch's DistributedDataParallel around Keras's model, in a loop of one's own, as Keras's guide has it."""

import keras
import numpy as np
import torch
from torch.nn.parallel import DistributedDataParallel

from dlworker.frameworks import keras as builder
from dlworker.frameworks.pytorch.parallel import join, leave
from dlworker.meeting import Weighed

__all__ = ["OF_EACH", "Trainer", "join", "leave"]

OF_EACH = ("batch_norm", "dropout", "detections")


class Trainer(Weighed, builder.Trainer):
    """The network in one of several workers. Batch normalisation uses its part of the batch."""

    def __init__(self, network, recipe, weights, device, seed, group):
        super().__init__(network, recipe, weights, device, seed)
        with keras.device(self.device):
            self.exchanging = DistributedDataParallel(self.model)
        # The weights are the same, and the dropout masks must not be.
        for layer in self.model.layers:
            if hasattr(layer, "seed_generator"):
                layer.seed_generator.state.assign(np.array([seed + group["rank"], 0]))

    def step(self, number):
        self.number = number
        with keras.device(self.device):
            self._set_rate(number)
            x, y = self._batch(number)
            self.model.zero_grad()
            loss = self.model.compute_loss(x, y, self.exchanging(x, training=True))
            loss = loss if self.factors is None else loss * self.factor()
            self.model.optimizer.scale_loss(loss).backward()
            weights = self.model.trainable_weights
            with torch.no_grad():
                self.model.optimizer.apply([weight.value.grad for weight in weights], weights)
            return loss.detach()

    def step_alone(self, number):
        with self.exchanging.no_sync():
            return self.step(number)
