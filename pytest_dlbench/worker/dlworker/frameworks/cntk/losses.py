"""CNTK's losses: functions (network, logits, labels) -> loss of each answer."""

import cntk as C  # noqa: N812 - the name it has in CNTK's own tutorials


def softmax_cross_entropy(network, logits, labels):
    return C.cross_entropy_with_softmax(logits, labels)


def sequence_cross_entropy(network, logits, labels):
    return C.cross_entropy_with_softmax(logits, C.one_hot(labels, network["classes"], sparse_output=True))


def sigmoid_cross_entropy(network, logits, labels):
    return C.softplus(logits) - labels * logits


LOSSES = {
    "softmax_cross_entropy": softmax_cross_entropy,
    "sequence_cross_entropy": sequence_cross_entropy,
    "sigmoid_cross_entropy": sigmoid_cross_entropy,
}
