"""The losses of the TensorFlow 2 builder.

Each is a function (network, logits, labels) -> the loss of each answer, 0 for ignored ones, and the number of answers
that are not ignored.
"""

import tensorflow as tf

from dlworker.frameworks.tensorflow.detection import detection_loss


def cross_entropy(network, logits, labels):
    losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits)
    if network.get("ignored") is None:
        return losses, tf.size(labels)
    counts = labels != network["ignored"]
    return tf.where(counts, losses, tf.zeros_like(losses)), tf.math.count_nonzero(counts)


def sigmoid_cross_entropy(network, logits, labels):
    truth = tf.cast(tf.reshape(labels, logits.shape), logits.dtype)
    return tf.nn.sigmoid_cross_entropy_with_logits(labels=truth, logits=logits), tf.size(labels)


LOSSES = {
    "softmax_cross_entropy": cross_entropy,
    "sequence_cross_entropy": cross_entropy,
    "sigmoid_cross_entropy": sigmoid_cross_entropy,
    "detection": detection_loss,
}
