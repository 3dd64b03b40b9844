"""The layers and the loss of detectors. Of them, Chainer has RoIAlign, whose regions are at least a cell wide.

Boxes have no gradient: they are computed in arrays, not in variables.
"""

import chainer
import chainer.functions as F  # noqa: N812 - the names they have in Chainer's own documentation
import numpy as np
from chainer.backends import intel64

from dlworker.detection import DEVIATIONS, LARGEST_MOVE, MATCH, REGION, SAMPLE, TRUTH, anchors, regions_of

# Below every score and priority.
LOWEST = -1e30


def decoded(xp, boxes, moves, image):
    """Boxes after moves, within the image."""
    sizes = boxes[..., 2:] - boxes[..., :2]
    centres = (boxes[..., 2:] + boxes[..., :2]) / 2 + moves[..., :2] * sizes
    sizes = sizes * xp.exp(xp.minimum(moves[..., 2:], LARGEST_MOVE))
    corners = xp.concatenate([centres - sizes / 2, centres + sizes / 2], -1)
    return xp.minimum(xp.maximum(corners, 0), xp.array([image[1], image[0]] * 2, boxes.dtype))


def encoded(xp, boxes, targets):
    """The moves that turn boxes into targets."""
    sizes, wanted = boxes[..., 2:] - boxes[..., :2], xp.maximum(targets[..., 2:] - targets[..., :2], 1)
    centres = (targets[..., 2:] + targets[..., :2] - boxes[..., 2:] - boxes[..., :2]) / 2
    return xp.concatenate([centres / sizes, xp.log(wanted / sizes)], -1)


def overlaps(xp, first, second):
    """Intersection over union of the boxes of each image."""
    low = xp.maximum(first[:, :, None, :2], second[:, None, :, :2])
    high = xp.minimum(first[:, :, None, 2:], second[:, None, :, 2:])
    common = xp.maximum(high - low, 0).prod(-1)
    areas = [(boxes[..., 2:] - boxes[..., :2]).prod(-1) for boxes in (first, second)]
    return common / xp.maximum(areas[0][:, :, None] + areas[1][:, None] - common, 1e-9)


def rows_of(xp, values, numbers):
    """The rows with these numbers, image by image."""
    return values[xp.arange(len(values))[:, None], numbers]


def first_of(xp, values, count):
    """The places of the highest values; of equal ones the first comes first."""
    return xp.argsort(-values, 1, kind="stable")[:, :count]


def plain(variable):
    """The array of a variable, of iDeep as NumPy's."""
    array = variable.array
    return np.array(array) if isinstance(array, intel64.mdarray) else array


class RegionProposals:
    """Proposed boxes, or in training regions drawn from them and the true boxes."""

    def __init__(self, layer):
        self.layer, self.boxes = layer, anchors(layer)

    def __call__(self, scores, moves, truth=None):
        xp, dtype = scores.xp, np.promote_types(scores.dtype, np.float32)
        scores, moves = (plain(part).transpose(0, 2, 3, 1).astype(dtype) for part in (scores, moves))
        scores, moves = scores.reshape(len(scores), -1), moves.reshape(len(moves), -1, 4)
        boxes, counts, numbers = self._proposed(xp, scores, moves)
        if truth is None:
            others = xp.zeros(counts.shape + (REGION - 5,), dtype)
            found = xp.concatenate([boxes, counts[..., None].astype(dtype), others], -1)
        else:
            found = self._drawn(xp, boxes, counts, numbers, truth)
        return chainer.Variable(found, requires_grad=False)

    def _proposed(self, xp, scores, moves):
        """Boxes, whether they count, and the anchors' numbers, after suppression in ``after`` rounds."""
        layer = self.layer
        numbers, images = first_of(xp, scores, layer["before"]), xp.arange(len(scores))
        scores = rows_of(xp, scores, numbers)
        boxes = xp.asarray(self.boxes, scores.dtype)[numbers]
        boxes = decoded(xp, boxes, rows_of(xp, moves, numbers), layer["image"])
        is_large = (boxes[..., 2:] - boxes[..., :2] >= layer["smallest"]).all(-1)
        scores = xp.where(is_large, scores, xp.full_like(scores, LOWEST))
        shares, kept, counts = overlaps(xp, boxes, boxes), [], []
        for _ in range(layer["after"]):
            number = scores.argmax(1)
            kept.append(number)
            counts.append(scores[images, number] > LOWEST)
            scores[shares[images, number] > layer["overlap"]] = LOWEST
            scores[images, number] = LOWEST
        kept = xp.stack(kept, 1)
        return rows_of(xp, boxes, kept), xp.stack(counts, 1), rows_of(xp, numbers, kept)

    def _drawn(self, xp, boxes, counts, numbers, truth):
        """As many regions, by the priorities of their anchors, at most a quarter of them objects."""
        objects, quota, dtype = self.layer["objects"], self.layer["after"] // 4, boxes.dtype
        true = truth[:, : objects * TRUTH].reshape(len(truth), objects, TRUTH)
        priorities = truth[:, -len(self.boxes) - objects :]
        own, classes = true[..., :4], true[..., 4]
        boxes, counts = xp.concatenate([own, boxes], 1), xp.concatenate([classes > 0, counts], 1)
        keys = xp.concatenate([priorities[:, -objects:], rows_of(xp, priorities, numbers)], 1)
        shares = overlaps(xp, boxes, own)
        shares = xp.where((classes > 0)[:, None], shares, xp.full_like(shares, -1))
        best, nearest = shares.max(2), shares.argmax(2)
        on, off = counts & (best >= MATCH), counts & (best < MATCH)
        before = (on[:, None] & (keys[:, None] > keys[:, :, None])).sum(2)
        most = priorities.shape[1]
        keys = xp.where(on & (before < quota), keys + most, xp.where(off, keys, xp.full_like(keys, -1)))
        drawn = first_of(xp, keys, self.layer["after"])
        keys, regions, nearest = (rows_of(xp, part, drawn) for part in (keys, boxes, nearest))
        counts, on = ((keys >= least).astype(dtype)[..., None] for least in (0, most))
        # Any box will do where none is left, but it must have a size.
        regions = xp.where(counts > 0, regions, xp.array([0, 0, 16, 16], dtype))
        labels = rows_of(xp, classes, nearest)[..., None] * on
        targets = encoded(xp, regions, rows_of(xp, own, nearest)) / xp.array(DEVIATIONS, dtype) * on
        return xp.concatenate([regions, counts, labels, targets], -1)


class RoIAlign:
    """The mean of 2×2 bilinear samples in each of size×size parts of a region."""

    def __init__(self, layer):
        self.size, self.stride = layer["size"], layer["stride"]

    def __call__(self, features, regions):
        (batch, channels, height, width), xp = features.shape, regions.xp
        boxes, size = regions.array[..., :4] / self.stride, self.size
        top, down = self._places(xp, boxes[..., 1], boxes[..., 3], height)
        left, right = self._places(xp, boxes[..., 0], boxes[..., 2], width)
        down, right = down[..., :, None, None], right[..., None, :, None]
        pixels = F.cast(F.reshape(F.transpose(features, (0, 2, 3, 1)), (-1, channels)), boxes.dtype)
        images = xp.arange(batch, dtype=np.int32)[:, None, None, None] * height

        def at(below, right_by):
            places = (images + (top + below)[..., :, None]) * width + (left + right_by)[..., None, :]
            # Its gradient adds whole rows; that of indexing with several arrays is slower.
            return F.embed_id(places, pixels)

        shape = (*down.shape[:2], 2 * size, 2 * size, channels)
        down, right = xp.broadcast_to(down, shape), xp.broadcast_to(right, shape)
        upper, lower = (at(below, 0) * (1 - right) + at(below, 1) * right for below in (0, 1))
        samples = F.reshape(upper * (1 - down) + lower * down, (batch, -1, size, 2, size, 2, channels))
        parts = F.transpose(F.mean(samples, (3, 5)), (0, 1, 4, 2, 3))
        return F.cast(F.reshape(parts, (batch, -1, channels * size * size)), features.dtype)

    def _places(self, xp, low, high, cells):
        """The cell before each sample and the distance from its centre."""
        count = 2 * self.size
        shares = (xp.arange(count, dtype=low.dtype) + 0.5) / count
        places = xp.clip(low[..., None] + (high - low)[..., None] * shares - 0.5, 0, cells - 1)
        first = xp.minimum(xp.floor(places), cells - 2)
        return first.astype(np.int32), places - first


def detections(scores, moves, regions, classes, changes):
    """Everything that the loss and the evaluation need, as a row for each image."""
    of_anchors = [F.transpose(part, (0, 2, 3, 1)) for part in (scores, moves)]
    parts = of_anchors + [regions, classes, changes]
    return F.concat([F.cast(F.reshape(part, (len(part), -1)), regions.dtype) for part in parts], 1)


def smooth(found, wanted):
    """Smooth L1, summed over the four numbers of a box."""
    return F.sum(F.huber_loss(found, wanted, 1.0, reduce="no"), -1)


def detection(network):
    """The sum of the four losses, each divided by the number of its samples."""
    last, layer = network["layers"][-1], regions_of(network)
    count, regions, kinds, samples = last["anchors"], last["regions"], last["kinds"], layer["samples"]
    first = layer["objects"] * TRUTH
    ends = [int(end) for end in np.cumsum([count, 4 * count, REGION * regions, kinds * regions])]

    def loss(outputs, labels):
        batch, xp = len(outputs), outputs.xp
        scores, moves, drawn, classes, changes = F.split_axis(outputs, ends, 1)
        sampled = labels[:, first : first + samples * SAMPLE].reshape(batch, samples, SAMPLE)
        numbers, counts, on = sampled[..., 0].astype(np.int32), sampled[..., 1], sampled[..., 2]
        images = xp.arange(batch)[:, None]
        scores, moves = scores[images, numbers], F.reshape(moves, (batch, count, 4))[images, numbers]
        objectness = (F.softplus(scores) - on * scores) * counts
        of_boxes = smooth(moves, sampled[..., 3:]) * on
        of_anchors = (F.sum(objectness) + F.sum(of_boxes)) / counts.sum()
        drawn = plain(drawn).reshape(-1, REGION)
        counts, answers = drawn[:, 4], drawn[:, 5].astype(np.int32)
        entropy = F.softmax_cross_entropy(F.reshape(classes, (-1, kinds)), answers, reduce="no") * counts
        own = F.reshape(changes, (-1, kinds, 4))[xp.arange(len(answers)), answers]
        of_boxes = smooth(own, drawn[:, 6:]) * (answers > 0).astype(drawn.dtype)
        return of_anchors + (F.sum(entropy) + F.sum(of_boxes)) / counts.sum()

    return loss
