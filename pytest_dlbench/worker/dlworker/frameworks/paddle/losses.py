"""Paddle's mean losses, by name: functions network -> (logits, labels) -> loss."""

import paddle.nn.functional as F  # noqa: N812 - the name it has in Paddle's own documentation

from dlworker.frameworks.paddle.detection import detection


def cross_entropy(network):
    index = -100 if network.get("ignored") is None else network["ignored"]
    return lambda logits, labels: F.cross_entropy(logits, labels, ignore_index=index)


def sigmoid_cross_entropy(network):
    return lambda logits, labels: F.binary_cross_entropy_with_logits(logits, labels.reshape(logits.shape))


LOSSES = {
    "softmax_cross_entropy": cross_entropy,
    "sequence_cross_entropy": cross_entropy,
    "sigmoid_cross_entropy": sigmoid_cross_entropy,
    "detection": detection,
}
