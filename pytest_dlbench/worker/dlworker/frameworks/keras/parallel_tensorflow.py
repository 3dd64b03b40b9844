"""Keras in the scope of TensorFlow's MultiWorkerMirroredStrategy: the optimiser adds up the workers' gradients."""

import keras
import numpy as np
import tensorflow as tf

from dlworker.frameworks import keras as builder
from dlworker.frameworks.tensorflow.parallel import STRATEGIES, join, leave
from dlworker.protocol import RequestError

__all__ = ["OF_EACH", "Trainer", "join", "leave"]

OF_EACH = ("batch_norm", "dropout", "detections")


class Trainer(builder.Trainer):
    """The network in one of several workers. Batch normalisation uses its part of the batch."""

    factors = None

    def __init__(self, network, recipe, weights, device, seed, group):
        if recipe.get("clip_norm"):
            message = "several workers: Keras on TensorFlow clips each one's gradients before it adds them up"
            raise RequestError("unsupported", message)
        with STRATEGIES[0].scope():
            super().__init__(network, recipe, weights, device, seed)
        # The weights are the same, and the dropout masks must not be.
        for layer in self.model.layers:
            if hasattr(layer, "seed_generator"):
                layer.seed_generator.state.assign([seed + group["rank"], 0])
        self.model.train_function = self._trained()
        self._apply = tf.function(lambda inputs: self.model(inputs, training=False), autograph=False)

    def _trained(self):
        """Keras's step in the strategy. Its own function would average the loss, a scalar, along an axis."""
        return tf.function(lambda *batch: STRATEGIES[0].run(self.model.train_step, (batch,))["loss"], autograph=False)

    def step(self, number):
        with keras.device(self.device):
            self._set_rate(number)
            self.model.reset_metrics()
            inputs, labels = self._batch(number)
            return self.model.train_function(inputs, labels, *self._weights(labels, number))

    def _weights(self, labels, number):
        """Those of the labels, where otherwise each one that counts would not have the same weight on all workers."""
        if self.factors is None:
            return ()
        return (tf.fill(labels.shape, np.asarray(self.factors[number], keras.config.floatx())),)

    def step_alone(self, number):
        optimizer = self.model.optimizer
        if optimizer._all_reduce_sum_gradients is not list:
            optimizer._all_reduce_sum_gradients, self.model.train_function = list, self._trained()
        return self.step(number)

    def outputs(self, inputs, batch_size):
        # Keras would collect the outputs of all workers.
        for given in self._parts(inputs, batch_size):
            yield self._apply(given).numpy()
