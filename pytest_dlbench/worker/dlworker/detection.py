"""What detectors need besides their network, in NumPy, the same for all frameworks.

Before training: the anchors, the sampled ones of each image with their targets, and an order in which regions are
drawn. Everything random is decided here, once per image. After it: boxes, suppression and mean average precision.
"""

import numpy as np

SEED = 20261123
# Faster R-CNN (Ren et al. 2015, section 3.1.2): anchors on an object, and on the background.
FOREGROUND, BACKGROUND = 0.7, 0.3
TRUTH, SAMPLE = 5, 7
# Of a region: box, whether it counts, class, target.
REGION = 10
# The deviations by which the targets of regions are divided, as in the authors' code.
DEVIATIONS = (0.1, 0.1, 0.2, 0.2)
# No box grows more than 1000/16 times in one step.
LARGEST_MOVE = 4.135
# What is tested: detections with at least this score, one of those that overlap more than this.
LEAST_SCORE, MOST_OVERLAP = 0.05, 0.3
MATCH = 0.5
# Detections of an object for accuracy have at least this score.
SURE = 0.5


def regions_of(network):
    """The layer that proposes regions."""
    return next(layer for layer in network["layers"] if layer["kind"] == "region_proposals")


def anchors(layer):
    """Boxes (left, top, right, bottom) of all anchors, ordered by row, column and shape."""
    rows, columns = ((np.arange(cells) + 0.5) * layer["stride"] for cells in layer["cells"])
    y, x = np.meshgrid(rows, columns, indexing="ij")
    boxes = [np.stack([x - w / 2, y - h / 2, x + w / 2, y + h / 2], -1) for h, w in layer["anchors"]]
    return np.stack(boxes, 2).reshape(-1, 4)


def overlaps(first, second):
    """Intersection over union of each of the first boxes with each of the second."""
    low = np.maximum(first[:, np.newaxis, :2], second[np.newaxis, :, :2])
    high = np.minimum(first[:, np.newaxis, 2:], second[np.newaxis, :, 2:])
    common = np.clip(high - low, 0, None).prod(-1)
    areas = [(boxes[:, 2:] - boxes[:, :2]).prod(-1) for boxes in (first, second)]
    return common / np.maximum(areas[0][:, np.newaxis] + areas[1] - common, 1e-9)


def encoded(boxes, targets):
    """The moves that turn boxes into targets."""
    sizes, wanted = boxes[..., 2:] - boxes[..., :2], np.maximum(targets[..., 2:] - targets[..., :2], 1)
    centres = (targets[..., :2] + targets[..., 2:] - boxes[..., :2] - boxes[..., 2:]) / 2
    return np.concatenate([centres / sizes, np.log(wanted / sizes)], -1)


def decoded(boxes, moves, image):
    """Boxes after moves, within an image of (height, width)."""
    sizes = boxes[..., 2:] - boxes[..., :2]
    centres = (boxes[..., :2] + boxes[..., 2:]) / 2 + moves[..., :2] * sizes
    sizes = sizes * np.exp(np.minimum(moves[..., 2:], LARGEST_MOVE))
    corners = np.concatenate([centres - sizes / 2, centres + sizes / 2], -1)
    return np.clip(corners, 0, np.array([image[1], image[0]] * 2))


def width_of(network):
    """The numbers in a row of ``prepared``."""
    layer = regions_of(network)
    return layer["objects"] * TRUTH + layer["samples"] * SAMPLE + len(anchors(layer)) + layer["objects"]


def prepared(network, labels, order, precision):
    """A row for each image that ``order`` names: its objects, its sampled anchors, the priorities of regions.

    Objects are left, top, right, bottom and class, 0 for those that are difficult. Samples are the anchor's number,
    whether it counts, whether it is on an object, and the moves to it. Priorities are those of all anchors, then of the
    objects.
    """
    layer = regions_of(network)
    boxes = anchors(layer)
    rows = np.zeros((len(labels), width_of(network)), dtype="float64" if precision == "float64" else "float32")
    for number in np.unique(order):
        generator = np.random.RandomState([SEED, number])
        truth = np.array(labels[number, :, :TRUTH], dtype=np.float64)
        truth[labels[number, :, 5] > 0, 4] = 0
        sampled = _sampled(boxes, truth[truth[:, 4] > 0, :4], layer["samples"], generator)
        priorities = generator.permutation(len(boxes) + layer["objects"])
        rows[number] = np.concatenate([truth.ravel(), sampled.ravel(), priorities])
    return rows


def _sampled(boxes, objects, count, generator):
    """Rows of SAMPLE numbers: up to half of them on objects."""
    labels, targets = labelled(boxes, objects)
    on = generator.permutation(np.flatnonzero(labels == 1))[: count // 2]
    off = generator.permutation(np.flatnonzero(labels == 0))[: count - len(on)]
    chosen = np.concatenate([on, off])
    rows = np.zeros((count, SAMPLE))
    rows[: len(chosen), 0], rows[: len(chosen), 1] = chosen, 1
    rows[: len(on), 2], rows[: len(on), 3:] = 1, targets[on]
    return rows


def labelled(boxes, objects):
    """For each anchor 1 on an object, 0 on the background, -1 for neither; and its moves to the nearest object."""
    if not len(objects):
        return np.zeros(len(boxes), dtype=int), np.zeros((len(boxes), 4))
    shares = overlaps(boxes, objects)
    best = shares.max(1)
    labels = np.where(best >= FOREGROUND, 1, np.where(best < BACKGROUND, 0, -1))
    labels[shares.argmax(0)] = 1
    return labels, encoded(boxes, objects[shares.argmax(1)])


def split(network, outputs):
    """The parts of output rows: scores and moves of anchors, regions, their scores and moves."""
    layer = network["layers"][-1]
    count, regions, kinds = layer["anchors"], layer["regions"], layer["kinds"]
    ends = np.cumsum([count, 4 * count, REGION * regions, kinds * regions])
    scores, moves, boxes, classes, changes = np.split(np.asarray(outputs, dtype=np.float64), ends, axis=1)
    return (
        scores,
        moves.reshape(-1, count, 4),
        boxes.reshape(-1, regions, REGION),
        classes.reshape(-1, regions, kinds),
        changes.reshape(-1, regions, kinds, 4),
    )


def detected(regions, classes, changes, image):
    """For each class: its number, boxes in an image of (height, width), and their scores, which fall."""
    shares = np.exp(classes - classes.max(1, keepdims=True))
    shares = shares / shares.sum(1, keepdims=True) * regions[:, 4:5]
    moved = decoded(regions[:, np.newaxis, :4], changes * DEVIATIONS, image)
    for kind in range(1, classes.shape[1]):
        kept = _suppressed(moved[:, kind], shares[:, kind])
        yield kind, moved[kept, kind], shares[kept, kind]


class Judge:
    """Sums over the outputs of a test split: objects that are found, losses, and detections by class."""

    def __init__(self, network):
        self.network, self.layer = network, regions_of(network)
        self.boxes = anchors(self.layer)
        self.found_objects, self.objects, self.loss, self.images = 0, 0, 0.0, 0
        # By class: scores and hits of detections, and the number of objects.
        self.detections = {kind: ([], []) for kind in range(1, network["layers"][-1]["kinds"])}
        self.counts = dict.fromkeys(self.detections, 0)

    def add(self, outputs, labels):
        """Judge the outputs of some images; labels are those of the data set."""
        for parts in zip(*split(self.network, outputs), labels):
            self.images += 1
            self._image(parts[:5], np.asarray(parts[5], dtype=np.float64))

    def mean_loss(self):
        """The mean over images."""
        return self.loss / self.images

    def found(self):
        """The fields of the answer: objects, those that are found, and the mean average precision."""
        found = {"examples": self.objects, "correct": self.found_objects, "top5_correct": None}
        return dict(found, map50=self.mean_average_precision())

    def _image(self, parts, label):
        scores, moves, regions, classes, changes = parts
        truth = label[label[:, 4] > 0]
        plain = truth[truth[:, 5] == 0]
        self.loss += _anchors_loss(self.boxes, scores, moves, plain) + _regions_loss(regions, classes, changes, plain)
        self.objects += len(plain)
        for kind, boxes, shares in detected(regions, classes, changes, self.layer["image"]):
            own = truth[truth[:, 4] == kind]
            hits = matched(boxes, own[:, :4], own[:, 5] > 0)
            counts = hits >= 0
            self.detections[kind][0].extend(shares[counts])
            self.detections[kind][1].extend(hits[counts])
            self.counts[kind] += int((own[:, 5] == 0).sum())
            self.found_objects += int((hits[shares >= SURE] == 1).sum())

    def mean_average_precision(self):
        """The mean over the classes that occur, at an intersection over union of 0.5."""
        found = [
            average_precision(np.array(scores), np.array(hits), self.counts[kind])
            for kind, (scores, hits) in self.detections.items()
            if self.counts[kind]
        ]
        return float(np.mean(found)) if found else 0.0


def _smooth(differences):
    size = np.abs(differences)
    return np.where(size < 1, 0.5 * size * size, size - 0.5).sum()


def _anchors_loss(boxes, scores, moves, truth):
    """The losses of all anchors on objects or the background."""
    labels, targets = labelled(boxes, truth[:, :4])
    taken, on = labels >= 0, labels == 1
    losses = np.logaddexp(0, scores[taken]) - labels[taken] * scores[taken]
    return (losses.sum() + _smooth(moves[on] - targets[on])) / taken.sum()


def _regions_loss(regions, classes, changes, truth):
    """The losses of all regions that were proposed."""
    counts = regions[:, 4] > 0
    boxes, classes, changes = regions[counts, :4], classes[counts], changes[counts]
    if not len(boxes):
        return 0.0
    labels, loss = np.zeros(len(boxes), dtype=int), 0.0
    if len(truth):
        shares = overlaps(boxes, truth[:, :4])
        best, on = shares.argmax(1), shares.max(1) >= MATCH
        labels[on] = truth[best[on], 4]
        targets = encoded(boxes[on], truth[best[on], :4]) / DEVIATIONS
        loss = _smooth(changes[on, labels[on]] - targets)
    largest = classes.max(1)
    logs = np.log(np.exp(classes - largest[:, np.newaxis]).sum(1)) + largest
    return (loss + (logs - classes[np.arange(len(labels)), labels]).sum()) / len(labels)


def _suppressed(boxes, scores):
    """The numbers of boxes that are kept, the highest score first."""
    order = [number for number in np.argsort(-scores, kind="mergesort") if scores[number] >= LEAST_SCORE]
    shares, kept = overlaps(boxes, boxes), []
    for number in order:
        if not (shares[number, kept] > MOST_OVERLAP).any():
            kept.append(number)
    return np.array(kept, dtype=int)


def matched(boxes, truth, is_difficult):
    """For boxes of one image and class by falling score: 1 for a hit, 0 for none, -1 if it does not count.

    Each takes the object left over with which it has the largest overlap, of at least MATCH, those that are not
    difficult first. A box on a difficult object does not count.
    """
    shares, hits = overlaps(boxes, truth), np.zeros(len(boxes), dtype=int)
    free = np.ones(len(truth), dtype=bool)
    for number in range(len(boxes)):
        for candidates, hit in ((free & ~is_difficult, 1), (is_difficult, -1)):
            own = np.where(candidates, shares[number], -1)
            if len(own) and own.max() >= MATCH:
                hits[number], free[own.argmax()] = hit, False
                break
    return hits


def average_precision(scores, hits, objects):
    """The mean precision at 101 recalls, as COCO computes it."""
    order = np.argsort(-scores, kind="mergesort")
    right = np.cumsum(hits[order]) if len(order) else np.zeros(0)
    precision = right / np.arange(1, len(right) + 1)
    precision = np.maximum.accumulate(precision[::-1])[::-1]
    places = np.searchsorted(right / float(objects), np.linspace(0, 1, 101), side="left")
    return float(np.append(precision, 0.0)[places].mean())
