"""tinygrad's mean losses: functions (network, logits, labels)."""


def cross_entropy(network, logits, labels):
    # No label is -1: nothing is ignored.
    ignored = -1 if network.get("ignored") is None else network["ignored"]
    return logits.sparse_categorical_crossentropy(labels, ignore_index=ignored)


def sigmoid_cross_entropy(network, logits, labels):
    return logits.binary_crossentropy_logits(labels.reshape(logits.shape))


LOSSES = {
    "softmax_cross_entropy": cross_entropy,
    "sequence_cross_entropy": cross_entropy,
    "sigmoid_cross_entropy": sigmoid_cross_entropy,
}
