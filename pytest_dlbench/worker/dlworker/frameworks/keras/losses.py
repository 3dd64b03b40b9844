"""Keras 3's losses by name, as functions of the network."""

import keras

LOSSES = {
    "softmax_cross_entropy": lambda network: keras.losses.SparseCategoricalCrossentropy(from_logits=True),
    "sequence_cross_entropy": lambda network: keras.losses.SparseCategoricalCrossentropy(
        from_logits=True, ignore_class=network["ignored"]
    ),
    "sigmoid_cross_entropy": lambda network: keras.losses.BinaryCrossentropy(from_logits=True),
}
