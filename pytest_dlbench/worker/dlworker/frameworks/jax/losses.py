"""The loss of each answer, 0 for ignored ones: functions (network, logits, labels) -> losses."""

import jax.numpy as jnp
import optax

from dlworker.frameworks.jax.detection import detection_loss


def cross_entropy(network, logits, labels):
    losses = optax.softmax_cross_entropy_with_integer_labels(logits, labels)
    return losses if network.get("ignored") is None else jnp.where(labels != network["ignored"], losses, 0.0)


def sigmoid_cross_entropy(network, logits, labels):
    return optax.sigmoid_binary_cross_entropy(logits, labels.reshape(logits.shape).astype(logits.dtype))


LOSSES = {
    "softmax_cross_entropy": cross_entropy,
    "sequence_cross_entropy": cross_entropy,
    "sigmoid_cross_entropy": sigmoid_cross_entropy,
    "detection": detection_loss,
}


def mean_loss(network, logits, labels):
    """The mean over the answers that are not ignored; a detector's loss is none over answers."""
    if network["loss"] == "detection":
        return LOSSES["detection"](network, logits, labels)
    ignored = network.get("ignored")
    count = labels.size if ignored is None else (labels != ignored).sum()
    return LOSSES[network["loss"]](network, logits, labels).sum() / count
