"""PyTorch's mean losses, by name: functions network -> (logits, labels) -> loss."""

import torch.nn.functional as F  # noqa: N812 - the name it has in PyTorch's own documentation

from dlworker.frameworks.pytorch.detection import detection


def softmax_cross_entropy(network):
    return F.cross_entropy


def sequence_cross_entropy(network):
    ignored = -100 if network["ignored"] is None else network["ignored"]

    def loss(logits, labels):
        rows = logits.reshape(-1, logits.shape[-1])
        return F.cross_entropy(rows, labels.reshape(-1), ignore_index=ignored)

    return loss


def sigmoid_cross_entropy(network):
    def loss(logits, labels):
        return F.binary_cross_entropy_with_logits(logits, labels.view_as(logits).to(logits.dtype))

    return loss


LOSSES = {
    "softmax_cross_entropy": softmax_cross_entropy,
    "sequence_cross_entropy": sequence_cross_entropy,
    "sigmoid_cross_entropy": sigmoid_cross_entropy,
    "detection": detection,
}
