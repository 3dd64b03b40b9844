"""Losses written in Keras 2's backend functions: a function network -> (labels, logits) -> losses.

Keras takes the mean of these.
"""

from dlworker.frameworks.keras2.layers import BACKEND, K, log_softmax, native


def softmax_cross_entropy(network):
    """Of one-hot labels, and without the softmax of the last layer, whose results Keras clips at 1e-7."""

    def softmax_cross_entropy(labels, logits):
        if BACKEND != "theano":
            return K.categorical_crossentropy(labels, logits, from_logits=True)
        # There Keras clips these, too.
        return -K.sum(labels * log_softmax(logits), axis=-1)

    return softmax_cross_entropy


def sequence_cross_entropy(network):
    """Of labels that are numbers, in an array with as many dimensions as the logits', as Keras wants it."""

    def sequence_cross_entropy(labels, logits):
        # The batch is no axis to CNTK: there the index would be of a step.
        labels = native.C.reshape(labels, logits.shape[:-1]) if BACKEND == "cntk" else labels[:, :, 0]
        labels = K.cast(labels, "int32")
        if BACKEND == "tensorflow":
            losses = native.tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits)
        else:
            losses = -K.sum(K.one_hot(labels, network["classes"]) * log_softmax(logits), axis=-1)
        if network["ignored"] is None:
            return losses
        counts = K.cast(K.not_equal(labels, network["ignored"]), K.dtype(logits))
        # The mean of all is to be that of those which count.
        return losses * counts / K.mean(counts)

    return sequence_cross_entropy


def sigmoid_cross_entropy(network):
    """Without the sigmoid, whose results Keras clips."""

    def sigmoid_cross_entropy(labels, logits):
        return K.softplus(logits) - labels * logits

    return sigmoid_cross_entropy


LOSSES = {
    "sequence_cross_entropy": sequence_cross_entropy,
    "sigmoid_cross_entropy": sigmoid_cross_entropy,
    "softmax_cross_entropy": softmax_cross_entropy,
}
