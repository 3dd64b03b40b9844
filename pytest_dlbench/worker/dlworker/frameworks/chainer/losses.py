"""Chainer's mean losses, by name: functions network -> (logits, labels) -> loss."""

import chainer.functions as F  # noqa: N812 - the names they have in Chainer's own documentation

from dlworker.frameworks.chainer.detection import detection


def cross_entropy(network):
    # No class is -1: nothing is ignored.
    ignored = -1 if network.get("ignored") is None else network["ignored"]

    def loss(logits, labels):
        rows = F.reshape(logits, (-1, logits.shape[-1])) if logits.ndim == 3 else logits
        return F.softmax_cross_entropy(rows, labels.reshape(-1), ignore_label=ignored)

    return loss


def sigmoid_cross_entropy(network):
    return lambda logits, labels: F.sigmoid_cross_entropy(logits, labels.reshape(logits.shape))


LOSSES = {
    "softmax_cross_entropy": cross_entropy,
    "sequence_cross_entropy": cross_entropy,
    "sigmoid_cross_entropy": sigmoid_cross_entropy,
    "detection": detection,
}
