"""MLX's losses: functions (network, logits, labels) -> loss of each answer, and whether the answer counts."""

import mlx.core as mx
from mlx import nn


def cross_entropy(network, logits, labels):
    ignored = network.get("ignored")
    return nn.losses.cross_entropy(logits, labels), mx.array(True) if ignored is None else labels != ignored


def sigmoid_cross_entropy(network, logits, labels):
    return nn.losses.binary_cross_entropy(logits, labels.reshape(logits.shape), reduction="none"), mx.array(True)


LOSSES = {
    "softmax_cross_entropy": cross_entropy,
    "sequence_cross_entropy": cross_entropy,
    "sigmoid_cross_entropy": sigmoid_cross_entropy,
}
