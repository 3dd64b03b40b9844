"""The layers and the loss of detectors in Keras 3, which itself has none of them."""

import keras
from keras import ops

from dlworker.detection import DEVIATIONS, LARGEST_MOVE, MATCH, REGION, SAMPLE, TRUTH, anchors, regions_of

# PyTorch's features are channels first.
IS_FIRST = keras.backend.backend() == "torch"
# Below every score and priority.
LOWEST = -1e30


def channels_last(features):
    """Features in row, column, channel order."""
    return ops.transpose(features, (0, 2, 3, 1)) if IS_FIRST else features


def like(values, numbers):
    """Numbers in the type of values."""
    return ops.convert_to_tensor(numbers, values.dtype)


def decoded(boxes, moves, image):
    """Boxes after moves, within the image."""
    sizes = boxes[..., 2:] - boxes[..., :2]
    centres = (boxes[..., 2:] + boxes[..., :2]) / 2 + moves[..., :2] * sizes
    sizes = sizes * ops.exp(ops.minimum(moves[..., 2:], like(moves, LARGEST_MOVE)))
    corners = ops.concatenate([centres - sizes / 2, centres + sizes / 2], -1)
    return ops.minimum(ops.relu(corners), like(corners, [image[1], image[0]] * 2))


def encoded(boxes, targets):
    """The moves that turn boxes into targets."""
    sizes, wanted = boxes[..., 2:] - boxes[..., :2], targets[..., 2:] - targets[..., :2]
    centres = (targets[..., 2:] + targets[..., :2] - boxes[..., 2:] - boxes[..., :2]) / 2
    return ops.concatenate([centres / sizes, ops.log(ops.maximum(wanted, like(wanted, 1)) / sizes)], -1)


def overlaps(first, second):
    """Intersection over union of the boxes of each image."""
    low = ops.maximum(first[:, :, None, :2], second[:, None, :, :2])
    high = ops.minimum(first[:, :, None, 2:], second[:, None, :, 2:])
    common = ops.prod(ops.relu(high - low), -1)
    areas = [ops.prod(boxes[..., 2:] - boxes[..., :2], -1) for boxes in (first, second)]
    return common / ops.maximum(areas[0][:, :, None] + areas[1][:, None] - common, like(common, 1e-9))


def rows_of(values, numbers):
    """The rows with these numbers, image by image."""
    return ops.take_along_axis(values, numbers[..., None], 1)


def entries_of(values, numbers):
    """The entries with these numbers, image by image."""
    return ops.take_along_axis(values, numbers, 1)


def first_of(values, count):
    """The places of the highest values; of equal ones the first comes first."""
    return ops.argsort(-values, 1)[:, :count]


class RegionProposals(keras.layers.Layer):
    """Proposed boxes, or in training regions drawn from them and the true boxes."""

    def __init__(self, layer, **kwargs):
        super().__init__(**kwargs)
        self.layer, self.boxes = layer, anchors(layer)

    def call(self, inputs, training=None):
        *values, truth = inputs
        count = len(self.boxes)
        scores, moves = (ops.stop_gradient(channels_last(value)) for value in values)
        scores, moves = ops.reshape(scores, (-1, count)), ops.reshape(moves, (-1, count, 4))
        boxes, counts, numbers = self._proposed(scores, moves)
        if training:
            return ops.stop_gradient(self._drawn(boxes, counts, numbers, truth))
        more = ops.cast(counts, boxes.dtype)[..., None]
        return ops.concatenate([boxes, more, *[ops.zeros_like(more)] * (REGION - 5)], -1)

    def _proposed(self, scores, moves):
        """Boxes, whether they count, and the anchors' numbers, after suppression in ``after`` rounds."""
        layer, lowest = self.layer, like(scores, LOWEST)
        numbers = first_of(scores, layer["before"])
        scores = entries_of(scores, numbers)
        boxes = decoded(ops.take(like(scores, self.boxes), numbers, 0), rows_of(moves, numbers), layer["image"])
        is_large = ops.all(boxes[..., 2:] - boxes[..., :2] >= layer["smallest"], -1)
        scores = ops.where(is_large, scores, lowest)
        shares, places = overlaps(boxes, boxes), ops.arange(layer["before"], dtype="int32")
        kept, counts = [], []
        for _ in range(layer["after"]):
            best = ops.cast(ops.argmax(scores, 1), "int32")[:, None]
            kept.append(best)
            counts.append(entries_of(scores, best) > lowest)
            is_gone = (rows_of(shares, best)[:, 0] > layer["overlap"]) | (places[None] == best)
            scores = ops.where(is_gone, lowest, scores)
        kept = ops.concatenate(kept, 1)
        return rows_of(boxes, kept), ops.concatenate(counts, 1), entries_of(numbers, kept)

    def _drawn(self, boxes, counts, numbers, truth):
        """As many regions, by the priorities of their anchors, at most a quarter of them objects."""
        objects, quota = self.layer["objects"], self.layer["after"] // 4
        true = ops.reshape(truth[:, : objects * TRUTH], (-1, objects, TRUTH))
        most, none = len(self.boxes) + objects, like(truth, -1)
        priorities, own, classes = truth[:, -most:], true[..., :4], true[..., 4]
        boxes, counts = ops.concatenate([own, boxes], 1), ops.concatenate([classes > 0, counts], 1)
        keys = ops.concatenate([priorities[:, -objects:], entries_of(priorities, numbers)], 1)
        shares = ops.where((classes > 0)[:, None], overlaps(boxes, own), none)
        best, nearest = ops.max(shares, 2), ops.argmax(shares, 2)
        on, off = counts & (best >= MATCH), counts & (best < MATCH)
        before = ops.sum(ops.cast(on[:, None] & (keys[:, None] > keys[:, :, None]), "int32"), 2)
        keys = ops.where(on & (before < quota), keys + most, ops.where(off, keys, none))
        drawn = first_of(keys, self.layer["after"])
        keys, regions, nearest = entries_of(keys, drawn), rows_of(boxes, drawn), entries_of(nearest, drawn)
        counts, on = (ops.cast(keys >= least, keys.dtype)[..., None] for least in (0, most))
        # Any box will do where none is left, but it must have a size.
        regions = ops.where(counts > 0, regions, like(regions, [0, 0, 16, 16]))
        labels = entries_of(classes, nearest)[..., None] * on
        targets = encoded(regions, rows_of(own, nearest)) / like(regions, DEVIATIONS) * on
        return ops.concatenate([regions, counts, labels, targets], -1)


class RoIAlign(keras.layers.Layer):
    """The mean of 2×2 bilinear samples in each of size×size parts of a region."""

    def __init__(self, layer, **kwargs):
        super().__init__(**kwargs)
        self.size, self.stride = layer["size"], layer["stride"]

    def call(self, inputs):
        features, boxes = channels_last(inputs[0]), inputs[1][..., :4] / self.stride
        _, height, width, channels = features.shape
        count, size = boxes.shape[1], self.size
        top, down = self._places(boxes[..., 1], boxes[..., 3], height)
        left, right = self._places(boxes[..., 0], boxes[..., 2], width)
        down, right = down[..., :, None, None], right[..., None, :, None]
        pixels = ops.reshape(features, (-1, height * width, channels))

        def at(below, right_by):
            places = (top + below)[..., :, None] * width + (left + right_by)[..., None, :]
            found = rows_of(pixels, ops.reshape(places, (-1, count * 4 * size * size)))
            return ops.reshape(found, (-1, count, 2 * size, 2 * size, channels))

        upper, lower = (at(below, 0) * (1 - right) + at(below, 1) * right for below in (0, 1))
        samples = ops.reshape(upper * (1 - down) + lower * down, (-1, count, size, 2, size, 2, channels))
        parts = ops.transpose(ops.mean(samples, (3, 5)), (0, 1, 4, 2, 3))
        return ops.reshape(parts, (-1, count, channels * size * size))

    def _places(self, low, high, cells):
        """The cell before each sample and the distance from its centre."""
        shares = like(low, [(place + 0.5) / (2 * self.size) for place in range(2 * self.size)])
        places = ops.relu(low[..., None] + (high - low)[..., None] * shares - 0.5)
        places = ops.minimum(places, like(low, cells - 1))
        first = ops.minimum(ops.floor(places), like(low, cells - 2))
        return ops.cast(first, "int32"), places - first


class Detections(keras.layers.Layer):
    """Everything that the loss and the evaluation need, as a row for each image."""

    def __init__(self, layer, **kwargs):
        super().__init__(**kwargs)
        count, regions, kinds = layer["anchors"], layer["regions"], layer["kinds"]
        self.widths = (count, 4 * count, REGION * regions, kinds * regions, 4 * kinds * regions)

    def call(self, inputs):
        scores, moves, *rest = inputs
        parts = zip([channels_last(scores), channels_last(moves), *rest], self.widths)
        return ops.concatenate([ops.reshape(part, (-1, width)) for part, width in parts], 1)


def smooth(differences):
    """Smooth L1, summed over the four numbers of a box."""
    size = ops.abs(differences)
    return ops.sum(ops.where(size < 1, 0.5 * size * size, size - 0.5), -1)


class DetectionLoss(keras.losses.Loss):
    """The sum of the four losses, each divided by the number of its samples."""

    def __init__(self, network):
        super().__init__()
        last = network["layers"][-1]
        self.layer = regions_of(network)
        self.count, self.regions, self.kinds = last["anchors"], last["regions"], last["kinds"]

    def call(self, y_true, y_pred):
        count, regions, kinds, samples = self.count, self.regions, self.kinds, self.layer["samples"]
        ends = [count, 5 * count, 5 * count + REGION * regions, 5 * count + (REGION + kinds) * regions]
        scores, moves, drawn, classes, changes = ops.split(y_pred, ends, 1)
        first = self.layer["objects"] * TRUTH
        sampled = ops.reshape(y_true[:, first : first + samples * SAMPLE], (-1, samples, SAMPLE))
        numbers, counts, on = ops.cast(sampled[..., 0], "int32"), sampled[..., 1], sampled[..., 2]
        scores, moves = entries_of(scores, numbers), rows_of(ops.reshape(moves, (-1, count, 4)), numbers)
        objectness = ops.sum((ops.softplus(scores) - on * scores) * counts)
        of_anchors = (objectness + ops.sum(smooth(moves - sampled[..., 3:]) * on)) / ops.sum(counts)
        drawn = ops.stop_gradient(ops.reshape(drawn, (-1, REGION)))
        counts, answers = drawn[:, 4], ops.cast(drawn[:, 5], "int32")
        classes, changes = ops.reshape(classes, (-1, kinds)), ops.reshape(changes, (-1, kinds, 4))
        entropy = ops.sparse_categorical_crossentropy(answers, classes, from_logits=True) * counts
        own = rows_of(changes, answers[:, None])[:, 0]
        of_boxes = ops.sum(smooth(own - drawn[:, 6:]) * ops.cast(answers > 0, drawn.dtype))
        return of_anchors + (ops.sum(entropy) + of_boxes) / ops.sum(counts)
