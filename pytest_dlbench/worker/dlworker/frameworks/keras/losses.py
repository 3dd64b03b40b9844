"""Keras 3's losses by name, as functions of the network."""

import keras

from dlworker.frameworks.keras.detection import DetectionLoss

LOSSES = {
    "softmax_cross_entropy": lambda network: keras.losses.SparseCategoricalCrossentropy(from_logits=True),
    "sequence_cross_entropy": lambda network: keras.losses.SparseCategoricalCrossentropy(
        from_logits=True, ignore_class=network["ignored"]
    ),
    "sigmoid_cross_entropy": lambda network: keras.losses.BinaryCrossentropy(from_logits=True),
    "detection": DetectionLoss,
}
