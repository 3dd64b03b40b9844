"""The layers and the loss of detectors, in operators of MXNet that take the type of their input.

Numbers of rows are of that type, too: they are exact below 2^24, in float32.
"""

import numpy as np
from mxnet import gluon

from dlworker.detection import DEVIATIONS, LARGEST_MOVE, MATCH, REGION, SAMPLE, TRUTH, anchors, regions_of

# Below every score and priority.
LOWEST = -1e30
# In a row that is sorted.
MOST_VALUES = 2**24


def part(F, values, begin, end):  # noqa: N803 - Gluon's own name for nd or sym
    """Some of the numbers of each row, counted from either end."""
    return F.slice_axis(values, axis=-1, begin=begin, end=end)


def column(F, values, number):  # noqa: N803
    """One number of each row."""
    return F.squeeze(part(F, values, number, number + 1), axis=-1)


def scaled(F, values, factors):  # noqa: N803
    """Each number of a row times its own factor."""
    columns = [part(F, values, number, number + 1) * factor for number, factor in enumerate(factors)]
    return F.concat(*columns, dim=2)


def rows_of(F, values, numbers):  # noqa: N803
    """The rows, or numbers, with these numbers, image by image."""
    images = F.expand_dims(F.contrib.arange_like(numbers, axis=0), 1)
    return F.gather_nd(values, F.stack(F.broadcast_add(images, F.zeros_like(numbers)), numbers, axis=0))


def first_of(F, values, count, dtype):  # noqa: N803
    """The places of the highest values; of equal ones the first comes first.

    MXNet leaves the order of equal ones open. So their places are sorted again, among those of the same value.
    """
    order = F.cast(F.argsort(values, axis=1, is_ascend=False, dtype="int32"), "float64")
    falling = rows_of(F, values, F.cast(order, dtype))
    falls = F.slice_axis(falling, axis=1, begin=0, end=-1) > F.slice_axis(falling, axis=1, begin=1, end=None)
    first = F.zeros_like(F.slice_axis(order, axis=1, begin=0, end=1))
    groups = F.concat(first, F.cumsum(F.cast(falls, "float64"), axis=1), dim=1)
    again = F.argsort(groups * MOST_VALUES + order, axis=1, is_ascend=True, dtype="int32")
    again = F.slice_axis(again, axis=1, begin=0, end=count)
    return F.cast(rows_of(F, order, F.cast(again, "float64")), dtype)


def decoded(F, boxes, moves, image):  # noqa: N803
    """Boxes after moves, within the image."""
    low, high = part(F, boxes, 0, 2), part(F, boxes, 2, 4)
    sizes, centres = high - low, (high + low) / 2
    centres = centres + part(F, moves, 0, 2) * sizes
    sizes = sizes * F.exp(F.minimum(part(F, moves, 2, 4), LARGEST_MOVE))
    corners = F.concat(centres - sizes / 2, centres + sizes / 2, dim=2)
    sides = [F.clip(part(F, corners, place, place + 1), 0, image[1 - place % 2]) for place in range(4)]
    return F.concat(*sides, dim=2)


def encoded(F, boxes, targets):  # noqa: N803
    """The moves that turn boxes into targets."""
    low, high = part(F, boxes, 0, 2), part(F, boxes, 2, 4)
    wanted_low, wanted_high = part(F, targets, 0, 2), part(F, targets, 2, 4)
    sizes, wanted = high - low, F.maximum(wanted_high - wanted_low, 1)
    centres = (wanted_high + wanted_low - high - low) / 2
    return F.concat(centres / sizes, F.log(wanted / sizes), dim=2)


def overlaps(F, first, second):  # noqa: N803
    """Intersection over union of the boxes of each image."""
    first_low, first_high = (F.expand_dims(part(F, first, *ends), 2) for ends in ((0, 2), (2, 4)))
    second_low, second_high = (F.expand_dims(part(F, second, *ends), 1) for ends in ((0, 2), (2, 4)))
    low, high = F.broadcast_maximum(first_low, second_low), F.broadcast_minimum(first_high, second_high)
    common = F.prod(F.relu(high - low), axis=-1)
    areas = [F.prod(part(F, boxes, 2, 4) - part(F, boxes, 0, 2), axis=-1) for boxes in (first, second)]
    both = F.broadcast_add(F.expand_dims(areas[0], 2), F.expand_dims(areas[1], 1))
    return common / F.maximum(both - common, 1e-9)


class RegionProposals(gluon.HybridBlock):
    """Proposed boxes, or in training regions drawn from them and the true boxes."""

    def __init__(self, layer, dtype):
        super().__init__()
        self.layer, self.dtype, values = layer, dtype, anchors(layer)
        self.count = len(values)
        self.boxes = self.params.get_constant("boxes", values.astype(dtype))

    def hybrid_forward(self, F, scores, moves, truth=None, boxes=None):  # noqa: N803
        scores = F.reshape(F.transpose(F.BlockGrad(scores), (0, 2, 3, 1)), (-1, self.count))
        moves = F.reshape(F.transpose(F.BlockGrad(moves), (0, 2, 3, 1)), (-1, self.count, 4))
        found, counts, numbers = self._proposed(F, scores, moves, boxes)
        if truth is not None:
            return F.BlockGrad(self._drawn(F, found, counts, numbers, truth))
        counts = F.expand_dims(counts, 2)
        return F.BlockGrad(F.concat(found, counts, *[F.zeros_like(counts)] * (REGION - 5), dim=2))

    def _proposed(self, F, scores, moves, boxes):  # noqa: N803
        """Boxes, whether they count, and the anchors' numbers, after suppression in ``after`` rounds."""
        layer = self.layer
        numbers = first_of(F, scores, layer["before"], self.dtype)
        scores = rows_of(F, scores, numbers)
        boxes = decoded(F, F.take(boxes, numbers), rows_of(F, moves, numbers), layer["image"])
        sides = part(F, boxes, 2, 4) - part(F, boxes, 0, 2)
        lowest = F.ones_like(scores) * LOWEST
        scores = F.where(F.min(sides, axis=-1) >= layer["smallest"], scores, lowest)
        shares, kept, counts = overlaps(F, boxes, boxes), [], []
        for _ in range(layer["after"]):
            best = F.cast(F.argmax(scores, axis=1, keepdims=True), self.dtype)
            kept.append(best)
            counts.append(rows_of(F, scores, best) > LOWEST / 2)
            near = F.squeeze(rows_of(F, shares, best), axis=1) > layer["overlap"]
            own = F.one_hot(F.squeeze(best, axis=1), layer["before"], dtype=self.dtype)
            scores = F.where(near + own > 0, lowest, scores)
        kept = F.concat(*kept, dim=1)
        return rows_of(F, boxes, kept), F.concat(*counts, dim=1), rows_of(F, numbers, kept)

    def _drawn(self, F, boxes, counts, numbers, truth):  # noqa: N803
        """As many regions, by the priorities of their anchors, at most a quarter of them objects."""
        objects, quota, most = self.layer["objects"], self.layer["after"] // 4, self.count + self.layer["objects"]
        true = F.reshape(part(F, truth, 0, objects * TRUTH), (-1, objects, TRUTH))
        priorities, own, classes = part(F, truth, -most, None), part(F, true, 0, 4), column(F, true, 4)
        is_true = classes > 0
        boxes, counts = F.concat(own, boxes, dim=1), F.concat(is_true, counts, dim=1)
        keys = F.concat(part(F, priorities, -objects, None), rows_of(F, priorities, numbers), dim=1)
        is_near = F.expand_dims(is_true, 1)
        shares = F.broadcast_sub(F.broadcast_mul(overlaps(F, boxes, own), is_near), 1 - is_near)
        best, nearest = F.max(shares, axis=2), F.cast(F.argmax(shares, axis=2), self.dtype)
        on = counts * (best >= MATCH)
        off = counts - on
        is_before = F.broadcast_greater(F.expand_dims(keys, 1), F.expand_dims(keys, 2))
        before = F.sum(F.broadcast_mul(F.expand_dims(on, 1), is_before), axis=2)
        keys = F.where(on * (before < quota), keys + most, F.where(off, keys, -F.ones_like(keys)))
        drawn = first_of(F, keys, self.layer["after"], self.dtype)
        keys, nearest = rows_of(F, keys, drawn), rows_of(F, nearest, drawn)
        counts, on = F.expand_dims(keys >= 0, 2), F.expand_dims(keys >= most, 2)
        # Any box will do where none is left, but it must have a size.
        any_box = F.concat(*[F.ones_like(counts) * side for side in (0, 0, 16, 16)], dim=2)
        regions = F.broadcast_mul(rows_of(F, boxes, drawn), counts) + F.broadcast_mul(any_box, 1 - counts)
        labels = F.expand_dims(rows_of(F, classes, nearest), 2) * on
        moves = scaled(F, encoded(F, regions, rows_of(F, own, nearest)), [1 / one for one in DEVIATIONS])
        return F.concat(regions, counts, labels, F.broadcast_mul(moves, on), dim=2)

    def __repr__(self):
        return "RegionProposals(%d)" % self.layer["after"]


class RoIAlign(gluon.HybridBlock):
    """The mean of 2×2 bilinear samples in each of size×size parts of a region."""

    def __init__(self, layer, dtype):
        super().__init__()
        self.layer, self.dtype = layer, dtype

    def hybrid_forward(self, F, features, regions):  # noqa: N803
        (channels, height, width), size = self.layer["input"], self.layer["size"]
        boxes, count = part(F, regions, 0, 4) / self.layer["stride"], self.layer["output"][0]
        top, down = self._places(F, column(F, boxes, 1), column(F, boxes, 3), height)
        left, right = self._places(F, column(F, boxes, 0), column(F, boxes, 2), width)
        down, right = F.reshape(down, (0, 0, 0, 1, 1)), F.reshape(right, (0, 0, 1, -1, 1))
        pixels = F.reshape(F.transpose(features, (0, 2, 3, 1)), (-1, channels))
        images = F.reshape(F.contrib.arange_like(boxes, axis=0) * height, (-1, 1, 1, 1))

        def at(below, right_by):
            rows = F.broadcast_add(images, F.expand_dims(top + below, 3)) * width
            return F.take(pixels, F.broadcast_add(rows, F.expand_dims(left + right_by, 2)))

        upper, lower = (
            F.broadcast_mul(at(below, 0), 1 - right) + F.broadcast_mul(at(below, 1), right) for below in (0, 1)
        )
        samples = F.broadcast_mul(upper, 1 - down) + F.broadcast_mul(lower, down)
        parts = F.mean(F.reshape(samples, (-1, count, size, 2, size, 2, channels)), axis=(3, 5))
        return F.reshape(F.transpose(parts, (0, 1, 4, 2, 3)), (-1, count, channels * size * size))

    def _places(self, F, low, high, cells):  # noqa: N803
        """The cell before each sample and the distance from its centre."""
        count = 2 * self.layer["size"]
        shares = F.reshape((F.arange(count, dtype=self.dtype) + 0.5) / count, (1, 1, count))
        low, high = F.expand_dims(low, 2), F.expand_dims(high, 2)
        places = F.broadcast_add(low, F.broadcast_mul(high - low, shares)) - 0.5
        places = F.clip(places, 0, cells - 1)
        first = F.minimum(F.floor(places), cells - 2)
        return first, places - first

    def __repr__(self):
        return "RoIAlign(%d)" % self.layer["size"]


class Detections(gluon.HybridBlock):
    """Everything that the loss and the evaluation need, as a row for each image."""

    def hybrid_forward(self, F, scores, moves, regions, classes, changes):  # noqa: N803
        of_anchors = [F.transpose(values, (0, 2, 3, 1)) for values in (scores, moves)]
        return F.concat(*[F.flatten(values) for values in of_anchors + [regions, classes, changes]], dim=1)


class DetectionLoss(gluon.HybridBlock):
    """The sum of the four losses, each divided by the number of its samples."""

    def __init__(self, network, dtype):
        super().__init__()
        self.last, self.layer, self.dtype = network["layers"][-1], regions_of(network), dtype

    def hybrid_forward(self, F, outputs, labels):  # noqa: N803
        count, regions, kinds = self.last["anchors"], self.last["regions"], self.last["kinds"]
        ends = [int(end) for end in np.cumsum([0, count, 4 * count, REGION * regions, kinds * regions])] + [None]
        scores, moves, drawn, classes, changes = (part(F, outputs, *ends[first : first + 2]) for first in range(5))
        return self._of_anchors(F, scores, F.reshape(moves, (-1, count, 4)), labels) + self._of_regions(
            F,
            F.BlockGrad(F.reshape(drawn, (-1, REGION))),
            F.reshape(classes, (-1, kinds)),
            F.reshape(changes, (-1, kinds, 4)),
        )

    def _of_anchors(self, F, scores, moves, labels):  # noqa: N803
        samples, first = self.layer["samples"], self.layer["objects"] * TRUTH
        sampled = F.reshape(part(F, labels, first, first + samples * SAMPLE), (-1, samples, SAMPLE))
        numbers, counts, on = (column(F, sampled, number) for number in range(3))
        scores, moves = rows_of(F, scores, numbers), rows_of(F, moves, numbers)
        # The logarithm of 1 + exp(x), for every x.
        objectness = F.relu(scores) + F.log1p(F.exp(-F.abs(scores))) - on * scores
        boxes = F.sum(F.smooth_l1(moves - part(F, sampled, 3, SAMPLE), scalar=1.0), axis=-1) * on
        return (F.sum(objectness * counts) + F.sum(boxes)) / F.sum(counts)

    def _of_regions(self, F, drawn, classes, changes):  # noqa: N803
        counts, answers = column(F, drawn, 4), column(F, drawn, 5)
        entropy = -F.pick(F.log_softmax(classes, axis=-1), answers, axis=-1) * counts
        own = F.expand_dims(F.one_hot(answers, self.last["kinds"], dtype=self.dtype), 2)
        moves = F.sum(F.broadcast_mul(changes, own), axis=1)
        boxes = F.sum(F.smooth_l1(moves - part(F, drawn, 6, REGION), scalar=1.0), axis=-1) * (answers > 0)
        return (F.sum(entropy) + F.sum(boxes)) / F.sum(counts)
