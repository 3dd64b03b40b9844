"""Theano's mean losses: functions (network, logits, labels). Labels are a vector, or a matrix of tokens or flags."""

import theano.tensor as T  # noqa: N812 - the name it has in Theano's own documentation


def softmax_cross_entropy(network, logits, labels):
    # Theano recognises this pair, and computes the log-softmax directly.
    losses = T.nnet.categorical_crossentropy(T.nnet.softmax(logits), labels)
    if network.get("ignored") is None:
        return losses.mean()
    counts = T.neq(labels, network["ignored"])
    total = T.switch(counts, losses, 0).sum()
    return total / T.cast(counts.sum(), total.dtype)


def sequence_cross_entropy(network, logits, labels):
    return softmax_cross_entropy(network, logits.reshape((-1, network["classes"])), labels.flatten())


def sigmoid_cross_entropy(network, logits, labels):
    # T.nnet.sigmoid_binary_crossentropy has a wrong gradient in Theano 1.0. This one is correct, also at 0.
    size = abs(logits)
    return (0.5 * size + (0.5 - labels) * logits + T.log1p(T.exp(-size))).mean()


LOSSES = {
    "softmax_cross_entropy": softmax_cross_entropy,
    "sequence_cross_entropy": sequence_cross_entropy,
    "sigmoid_cross_entropy": sigmoid_cross_entropy,
}
