"""Accuracy and loss of a network's outputs, in NumPy and float64, so that all frameworks are scored alike."""

import numpy as np

TOP = 5
# Largest array: with a large vocabulary, a batch's outputs are processed in chunks.
NUMBERS = 2**24
# Accuracies of single classes are reported for at most as many.
MOST_CLASSES = 1000


class Answers(object):
    """Sums over the outputs of a test split: answers that count, those that are correct, and losses."""

    def __init__(self, network):
        self.network = network
        self.count, self.correct, self.near, self.loss = 0, 0, 0, 0.0
        self.has_flags = network["loss"] == "sigmoid_cross_entropy"
        self.has_classes = network["loss"] == "softmax_cross_entropy" and network["classes"] <= MOST_CLASSES
        # Of all examples: the logits of flags, or the likeliest class.
        self.given, self.labels = [], []

    def add(self, outputs, labels):
        """Judge the outputs of some examples; labels are those of the data set."""
        correct, near, loss = judge(self.network, outputs, labels)
        if self.has_flags:
            self.given.append(np.array(outputs, dtype=np.float64))
            self.labels.append(np.array(labels).reshape(outputs.shape) > 0)
        elif self.has_classes:
            self.given.append(np.argmax(outputs, axis=1))
            self.labels.append(np.array(labels))
        ignored = self.network.get("ignored")
        self.count += labels.size if ignored is None else int(np.count_nonzero(labels != ignored))
        self.correct, self.near, self.loss = self.correct + correct, self.near + near, self.loss + loss

    def mean_loss(self):
        """The mean over answers."""
        return self.loss / self.count

    def found(self):
        """The fields of the answer. Top-TOP accuracy is reported only for more than twice as many classes."""
        has_top = not self.has_flags and self.network["classes"] > 2 * TOP
        found = {"examples": self.count, "correct": self.correct, "top5_correct": self.near if has_top else None}
        if self.has_flags:
            areas = [area_under_curve(*flag) for flag in zip(*self._flags())]
            found["auroc"] = _mean([area for area in areas if area is not None])
        if self.has_classes:
            found["class_accuracies"] = class_accuracies(*self._whole(), classes=self.network["classes"])
        return found

    def _whole(self):
        return np.concatenate(self.given), np.concatenate(self.labels)

    def _flags(self):
        """Logits and labels, one row for each flag."""
        return [array.reshape(len(array), -1).T for array in self._whole()]


def _mean(values):
    return sum(values) / len(values) if values else None


def class_accuracies(chosen, labels, classes):
    """For each class, the share of its examples that are classified correctly; None for one without examples."""
    examples = np.bincount(labels, minlength=classes)
    correct = np.bincount(labels[chosen == labels], minlength=classes)
    return [float(right) / int(count) if count else None for right, count in zip(correct, examples)]


def area_under_curve(scores, labels):
    """The area under the ROC curve: how often a positive example scores higher than a negative one, ties counting half.

    None if all examples are alike, or a score is not a number.
    """
    positive = int(np.count_nonzero(labels))
    pairs = positive * (len(labels) - positive)
    if not pairs or np.isnan(scores).any():
        return None
    # Equal scores share the mean of their ranks (Mann & Whitney 1947).
    _, places, counts = np.unique(scores, return_inverse=True, return_counts=True)
    ranks = (np.cumsum(counts) - (counts - 1) / 2.0)[places.reshape(-1)]
    return float((ranks[labels].sum() - positive * (positive + 1) / 2.0) / pairs)


def judge(network, outputs, labels):
    """(correct answers, answers within the TOP most likely classes, sum of losses), without ignored labels.

    ``outputs`` are logits or log probabilities, one row per answer or flag. Ties between classes go to the first.
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
    """For each flag, whether it is correct, and its loss."""
    return (logits > 0) == (labels > 0), np.logaddexp(0, logits) - labels * logits


def _classes(logits, labels):
    """For each row, the number of classes ranked above the label, and its loss."""
    own = logits[np.arange(len(labels)), labels][:, np.newaxis]
    is_before = np.arange(logits.shape[1]) < labels[:, np.newaxis]
    ranks = ((logits > own) | ((logits == own) & is_before)).sum(axis=1)
    largest = logits.max(axis=1, keepdims=True)
    return ranks, np.log(np.exp(logits - largest).sum(axis=1)) + (largest - own)[:, 0]
