"""Losses in Keras 2's backend functions: functions network -> (labels, logits) -> losses, which Keras averages."""

from dlworker.frameworks.keras2.layers import BACKEND, K, log_softmax, native


def softmax_cross_entropy(network):
    """For one-hot labels. It skips the last layer's softmax, whose results Keras clips at 1e-7."""

    def softmax_cross_entropy(labels, logits):
        if BACKEND != "theano":
            return K.categorical_crossentropy(labels, logits, from_logits=True)
        # On this backend Keras clips these, too.
        return -K.sum(labels * log_softmax(logits), axis=-1)

    return softmax_cross_entropy


def sequence_cross_entropy(network):
    """For class numbers, in an array with as many dimensions as the logits, as Keras requires."""

    def sequence_cross_entropy(labels, logits):
        # CNTK has no batch axis: its index would be that of a step.
        labels = native.C.reshape(labels, logits.shape[:-1]) if BACKEND == "cntk" else labels[:, :, 0]
        labels = K.cast(labels, "int32")
        if BACKEND == "tensorflow":
            losses = native.tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits)
        else:
            losses = -K.sum(K.one_hot(labels, network["classes"]) * log_softmax(logits), axis=-1)
        if network["ignored"] is None:
            return losses
        counts = K.cast(K.not_equal(labels, network["ignored"]), K.dtype(logits))
        # Scaled so that the mean over all answers is the mean over those that are not ignored.
        return losses * counts / K.mean(counts)

    return sequence_cross_entropy


def sigmoid_cross_entropy(network):
    """From logits, because Keras clips the results of the sigmoid."""

    def sigmoid_cross_entropy(labels, logits):
        return K.softplus(logits) - labels * logits

    return sigmoid_cross_entropy


LOSSES = {
    "sequence_cross_entropy": sequence_cross_entropy,
    "sigmoid_cross_entropy": sigmoid_cross_entropy,
    "softmax_cross_entropy": softmax_cross_entropy,
}
