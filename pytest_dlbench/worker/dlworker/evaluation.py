"""What is counted of a network's outputs: in NumPy and float64, so that it is the same for all frameworks."""

import numpy as np

TOP = 5
# Of one array: what a large vocabulary makes of a batch is looked at in parts.
NUMBERS = 2**24


def judge(network, outputs, labels):
    """(right answers, those among the TOP likeliest, the sum of their losses); labels that are ignored are no answers.

    ``outputs`` are logits, or logarithms of probabilities, one row for each answer or flag. Of classes with equal
    logits the first is the likelier.
    """
    if network["loss"] == "sigmoid_cross_entropy":
        right, losses = _flags(np.asarray(outputs, dtype=np.float64), labels.reshape(outputs.shape))
        return int(right.sum()), int(right.sum()), float(losses.sum())
    rows, labels = outputs.reshape(-1, outputs.shape[-1]), labels.reshape(-1)
    if network.get("ignored") is not None:
        counts = labels != network["ignored"]
        rows, labels = rows[counts], labels[counts]
    correct, near, total = 0, 0, 0.0
    height = max(1, NUMBERS // rows.shape[-1])
    for first in range(0, len(rows), height):
        part = slice(first, first + height)
        ranks, losses = _classes(np.asarray(rows[part], dtype=np.float64), labels[part])
        correct, near = correct + int((ranks == 0).sum()), near + int((ranks < TOP).sum())
        total += float(losses.sum())
    return correct, near, total


def _flags(logits, labels):
    """Of each flag, whether it is right, and its loss."""
    return (logits > 0) == (labels > 0), np.logaddexp(0, logits) - labels * logits


def _classes(logits, labels):
    """Of each row, how many classes are likelier than the label's, and its loss."""
    own = logits[np.arange(len(labels)), labels][:, np.newaxis]
    is_before = np.arange(logits.shape[1]) < labels[:, np.newaxis]
    ranks = ((logits > own) | ((logits == own) & is_before)).sum(axis=1)
    largest = logits.max(axis=1, keepdims=True)
    return ranks, np.log(np.exp(logits - largest).sum(axis=1)) + (largest - own)[:, 0]
