"""The mean loss of tinygrad: functions (network, logits, labels)."""


def cross_entropy(network, logits, labels):
    # -1 is no label: it leaves none out.
    ignored = -1 if network.get("ignored") is None else network["ignored"]
    return logits.sparse_categorical_crossentropy(labels, ignore_index=ignored)


def sigmoid_cross_entropy(network, logits, labels):
    return logits.binary_crossentropy_logits(labels.reshape(logits.shape))


LOSSES = {
    "softmax_cross_entropy": cross_entropy,
    "sequence_cross_entropy": cross_entropy,
    "sigmoid_cross_entropy": sigmoid_cross_entropy,
}
