"""The layers and the loss of detectors, written in Paddle's operators. Features are channels first.

Constants are tensors: some kernels round plain numbers to float32.
"""

import numpy as np
import paddle
import paddle.nn.functional as F  # noqa: N812 - the name it has in Paddle's own documentation
from paddle import nn

from dlworker.detection import DEVIATIONS, LARGEST_MOVE, MATCH, REGION, SAMPLE, TRUTH, anchors, regions_of

# Below every score and priority.
LOWEST = -1e30


def like(values, numbers):
    """Numbers in the type of values."""
    return paddle.to_tensor(np.array(numbers, dtype="float64")).astype(values.dtype)


def decoded(boxes, moves, image):
    """Boxes after moves, within the image."""
    sizes = boxes[..., 2:] - boxes[..., :2]
    centres = (boxes[..., 2:] + boxes[..., :2]) / 2 + moves[..., :2] * sizes
    sizes = sizes * paddle.exp(paddle.minimum(moves[..., 2:], like(moves, [LARGEST_MOVE])))
    corners = paddle.concat([centres - sizes / 2, centres + sizes / 2], -1)
    return paddle.minimum(F.relu(corners), like(corners, [image[1], image[0]] * 2))


def encoded(boxes, targets):
    """The moves that turn boxes into targets."""
    sizes, wanted = boxes[..., 2:] - boxes[..., :2], targets[..., 2:] - targets[..., :2]
    centres = (targets[..., 2:] + targets[..., :2] - boxes[..., 2:] - boxes[..., :2]) / 2
    return paddle.concat([centres / sizes, paddle.log(paddle.maximum(wanted, like(wanted, [1])) / sizes)], -1)


def overlaps(first, second):
    """Intersection over union of the boxes of each image."""
    low = paddle.maximum(first[:, :, :2].unsqueeze(2), second[:, :, :2].unsqueeze(1))
    high = paddle.minimum(first[:, :, 2:].unsqueeze(2), second[:, :, 2:].unsqueeze(1))
    sides = F.relu(high - low)
    areas = [(boxes[..., 2] - boxes[..., 0]) * (boxes[..., 3] - boxes[..., 1]) for boxes in (first, second)]
    common = sides[..., 0] * sides[..., 1]
    together = areas[0].unsqueeze(2) + areas[1].unsqueeze(1) - common
    return common / paddle.maximum(together, like(together, [1e-9]))


def entries_of(values, numbers):
    """The entries with these numbers, image by image."""
    return paddle.take_along_axis(values, numbers, 1)


def rows_of(values, numbers):
    """The rows with these numbers, image by image."""
    return paddle.take_along_axis(values, numbers.unsqueeze(-1).expand([-1, -1, values.shape[-1]]), 1)


def first_of(values, count):
    """The places of the highest values; of equal ones the first comes first."""
    return paddle.argsort(values, 1, descending=True, stable=True)[:, :count]


class RegionProposals(nn.Layer):
    """Proposed boxes, or with the truth in training regions drawn from them and the true boxes."""

    def __init__(self, layer):
        super().__init__()
        self.layer, self.boxes = layer, anchors(layer)

    @paddle.no_grad()
    def forward(self, scores, moves, truth=None):
        count = len(self.boxes)
        scores = scores.transpose([0, 2, 3, 1]).reshape([-1, count])
        moves = moves.transpose([0, 2, 3, 1]).reshape([-1, count, 4])
        boxes, counts, numbers = self._proposed(scores, moves)
        if truth is not None:
            return self._drawn(boxes, counts, numbers, truth)
        more = counts.astype(boxes.dtype).unsqueeze(-1)
        return paddle.concat([boxes, more] + [paddle.zeros_like(more)] * (REGION - 5), -1)

    def _proposed(self, scores, moves):
        """Boxes, whether they count, and the anchors' numbers, after suppression in ``after`` rounds."""
        layer = self.layer
        numbers = first_of(scores, layer["before"])
        scores, shape = entries_of(scores, numbers), [-1, layer["before"], 4]
        boxes = paddle.gather(like(scores, self.boxes), numbers.flatten()).reshape(shape)
        boxes = decoded(boxes, rows_of(moves, numbers), layer["image"])
        is_large = (boxes[..., 2:] - boxes[..., :2] >= layer["smallest"]).all(-1)
        lowest = paddle.full_like(scores, LOWEST)
        scores = paddle.where(is_large, scores, lowest)
        shares, places = overlaps(boxes, boxes), paddle.arange(layer["before"]).unsqueeze(0)
        limit, kept, counts = like(scores, [layer["overlap"]]), [], []
        for _ in range(layer["after"]):
            best = scores.argmax(1).unsqueeze(1)
            kept.append(best)
            counts.append(entries_of(scores, best) > lowest[:, :1])
            is_gone = (rows_of(shares, best)[:, 0] > limit) | (places == best)
            scores = paddle.where(is_gone, lowest, scores)
        kept = paddle.concat(kept, 1)
        return rows_of(boxes, kept), paddle.concat(counts, 1), entries_of(numbers, kept)

    def _drawn(self, boxes, counts, numbers, truth):
        """As many regions, by the priorities of their anchors, at most a quarter of them objects."""
        objects, quota = self.layer["objects"], self.layer["after"] // 4
        true, most = truth[:, : objects * TRUTH].reshape([-1, objects, TRUTH]), len(self.boxes) + objects
        priorities, own, classes = truth[:, -most:], true[..., :4], true[..., 4]
        boxes, counts = paddle.concat([own, boxes], 1), paddle.concat([classes > 0, counts], 1)
        keys = paddle.concat([priorities[:, -objects:], entries_of(priorities, numbers)], 1)
        shares = overlaps(boxes, own)
        shares = paddle.where((classes > 0).unsqueeze(1).expand(shares.shape), shares, -paddle.ones_like(shares))
        best, nearest = shares.max(2), shares.argmax(2)
        on, off = counts & (best >= MATCH), counts & (best < MATCH)
        before = (on.unsqueeze(1) & (keys.unsqueeze(1) > keys.unsqueeze(2))).astype("int64").sum(2)
        keys = paddle.where(on & (before < quota), keys + most, paddle.where(off, keys, -paddle.ones_like(keys)))
        drawn = first_of(keys, self.layer["after"])
        keys, regions, nearest = entries_of(keys, drawn), rows_of(boxes, drawn), entries_of(nearest, drawn)
        counts, on = ((keys >= least).astype(keys.dtype).unsqueeze(-1) for least in (0, most))
        # Any box will do where none is left, but it must have a size.
        regions = regions * counts + like(regions, [0, 0, 16, 16]) * (1 - counts)
        labels = entries_of(classes, nearest).unsqueeze(-1) * on
        targets = encoded(regions, rows_of(own, nearest)) / like(regions, DEVIATIONS) * on
        return paddle.concat([regions, counts, labels, targets], -1)


class RoIAlign(nn.Layer):
    """The mean of 2×2 bilinear samples in each of size×size parts of a region."""

    def __init__(self, layer):
        super().__init__()
        self.size, self.stride = layer["size"], layer["stride"]

    def forward(self, features, regions):
        batch, channels, height, width = features.shape
        size, boxes = self.size, regions[..., :4] / self.stride
        top, down = self._places(boxes[..., 1], boxes[..., 3], height)
        left, right = self._places(boxes[..., 0], boxes[..., 2], width)
        down, right = down.unsqueeze(3).unsqueeze(4), right.unsqueeze(2).unsqueeze(4)
        pixels = features.transpose([0, 2, 3, 1]).reshape([-1, channels])
        images = paddle.arange(batch).reshape([-1, 1, 1, 1]) * height

        def at(below, right_by):
            places = (images + (top + below).unsqueeze(3)) * width + (left + right_by).unsqueeze(2)
            return paddle.gather(pixels, places.flatten()).reshape(places.shape + [channels])

        upper, lower = (at(below, 0) * (1 - right) + at(below, 1) * right for below in (0, 1))
        samples = (upper * (1 - down) + lower * down).reshape([batch, -1, size, 2, size, 2, channels])
        parts = samples.mean([3, 5]).transpose([0, 1, 4, 2, 3])
        return parts.reshape([batch, -1, channels * size * size])

    def _places(self, low, high, cells):
        """The cell before each sample and the distance from its centre."""
        count = 2 * self.size
        shares = like(low, (np.arange(count) + 0.5) / count)
        places = F.relu(low.unsqueeze(-1) + (high - low).unsqueeze(-1) * shares - 0.5)
        places = paddle.minimum(places, like(low, [cells - 1]))
        first = paddle.minimum(paddle.floor(places), like(low, [cells - 2]))
        return first.astype("int64"), places - first


class Detections(nn.Layer):
    """Everything that the loss and the evaluation need, as a row for each image."""

    def forward(self, scores, moves, regions, classes, changes):
        first = [part.transpose([0, 2, 3, 1]) for part in (scores, moves)]
        parts = [part.flatten(1).astype(regions.dtype) for part in first + [regions, classes, changes]]
        return paddle.concat(parts, 1)


def smooth(differences):
    """Smooth L1, summed over the four numbers of a box."""
    size = differences.abs()
    return paddle.where(size < 1, 0.5 * size * size, size - 0.5).sum(-1)


def detection(network):
    """The sum of the four losses, each divided by the number of its samples."""
    last, layer = network["layers"][-1], regions_of(network)
    count, regions, kinds, samples = last["anchors"], last["regions"], last["kinds"], layer["samples"]
    first = layer["objects"] * TRUTH
    widths = [count, 4 * count, REGION * regions, kinds * regions, 4 * kinds * regions]

    def loss(outputs, labels):
        scores, moves, drawn, classes, changes = paddle.split(outputs, widths, 1)
        sampled = labels[:, first : first + samples * SAMPLE].reshape([-1, samples, SAMPLE])
        numbers, counts, on = sampled[..., 0].astype("int64"), sampled[..., 1], sampled[..., 2]
        scores, moves = entries_of(scores, numbers), rows_of(moves.reshape([-1, count, 4]), numbers)
        objectness = F.binary_cross_entropy_with_logits(scores, on, reduction="none") * counts
        of_boxes = smooth(moves - sampled[..., 3:]) * on
        of_anchors = (objectness.sum() + of_boxes.sum()) / counts.sum()
        drawn = drawn.reshape([-1, REGION]).detach()
        counts, answers = drawn[:, 4], drawn[:, 5].astype("int64")
        entropy = F.cross_entropy(classes.reshape([-1, kinds]), answers, reduction="none").flatten() * counts
        own = rows_of(changes.reshape([-1, kinds, 4]), answers.unsqueeze(1)).squeeze(1)
        of_boxes = smooth(own - drawn[:, 6:]) * (answers > 0).astype(drawn.dtype)
        return of_anchors + (entropy.sum() + of_boxes.sum()) / counts.sum()

    return loss
