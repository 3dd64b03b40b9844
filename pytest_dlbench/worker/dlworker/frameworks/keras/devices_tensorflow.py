"""Keras in the scope of TensorFlow's MirroredStrategy over logical devices of the processor."""

import keras
import numpy as np
import tensorflow as tf

from dlworker.frameworks.keras import parallel_tensorflow
from dlworker.frameworks.keras.parallel_tensorflow import OF_EACH
from dlworker.frameworks.tensorflow.devices import STRATEGIES, join, leave, mean, place

__all__ = ["OF_EACH", "Trainer", "join", "leave"]


class Trainer(parallel_tensorflow.Trainer):
    """The network on several devices. Batch normalisation uses each one's part of the batch."""

    def __init__(self, network, recipe, weights, device, seed, group):
        super().__init__(network, recipe, weights, device, seed, group)
        with STRATEGIES[0].scope():
            # In the first step, TensorFlow could not make them for several devices.
            self.model.optimizer.build(self.model.trainable_variables)
        # The weights are the same, and the dropout masks must not be.
        for layer in self.model.layers:
            if hasattr(layer, "seed_generator"):
                states = STRATEGIES[0].experimental_local_results(layer.seed_generator.state.value)
                for number, state in enumerate(states):
                    state.assign([seed + number, 0])

    def _trained(self):
        """Keras's step in the strategy, on a part of the batch on each device."""
        return tf.function(lambda *batch: mean(STRATEGIES[0].run(self._trained_here, batch)), autograph=False)

    def _trained_here(self, *batch):
        count = STRATEGIES[0].num_replicas_in_sync
        return self.model.train_step(tf.nest.map_structure(lambda array: tf.split(array, count)[place()], batch))[
            "loss"
        ]

    def _weights(self, labels, number):
        if self.factors is None:
            return ()
        of_rows = np.repeat(self.factors[number], len(labels) // self.factors.shape[1])
        weights = of_rows.reshape((-1,) + (1,) * (len(labels.shape) - 1)) * np.ones(labels.shape)
        return (tf.constant(weights, keras.config.floatx()),)

    def copies(self, name):
        """A parameter as each device has it."""
        natives = self._natives()
        found = next(v for layer, role, v in natives if "%s.%s" % (layer["name"], role) == name)
        return [array.numpy() for array in STRATEGIES[0].experimental_local_results(found.value)]
