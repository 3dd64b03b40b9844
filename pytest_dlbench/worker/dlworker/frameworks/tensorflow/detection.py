"""The layers and the loss of detectors, which TensorFlow has none of. Features are channels last."""

import tensorflow as tf

from dlworker.detection import DEVIATIONS, LARGEST_MOVE, MATCH, REGION, SAMPLE, TRUTH, anchors, regions_of

# Below every score and priority.
LOWEST = -1e30


def decoded(boxes, moves, image):
    """Boxes after moves, within the image."""
    sizes = boxes[..., 2:] - boxes[..., :2]
    centres = (boxes[..., 2:] + boxes[..., :2]) / 2 + moves[..., :2] * sizes
    sizes = sizes * tf.exp(tf.minimum(moves[..., 2:], LARGEST_MOVE))
    corners = tf.concat([centres - sizes / 2, centres + sizes / 2], -1)
    return tf.clip_by_value(corners, 0, tf.constant([image[1], image[0]] * 2, corners.dtype))


def encoded(boxes, targets):
    """The moves that turn boxes into targets."""
    sizes, wanted = boxes[..., 2:] - boxes[..., :2], tf.maximum(targets[..., 2:] - targets[..., :2], 1)
    centres = (targets[..., 2:] + targets[..., :2] - boxes[..., 2:] - boxes[..., :2]) / 2
    return tf.concat([centres / sizes, tf.math.log(wanted / sizes)], -1)


def overlaps(first, second):
    """Intersection over union of the boxes of each image."""
    low = tf.maximum(first[:, :, None, :2], second[:, None, :, :2])
    high = tf.minimum(first[:, :, None, 2:], second[:, None, :, 2:])
    common = tf.reduce_prod(tf.maximum(high - low, 0), -1)
    areas = [tf.reduce_prod(boxes[..., 2:] - boxes[..., :2], -1) for boxes in (first, second)]
    return common / tf.maximum(areas[0][:, :, None] + areas[1][:, None] - common, 1e-9)


def rows_of(values, numbers):
    """The rows with these numbers, image by image."""
    return tf.gather(values, numbers, batch_dims=1)


def region_proposals(layer, arrays):
    def propose(values, truth):
        """Proposed boxes, or with the truth in training regions drawn from them and the true boxes."""
        scores, moves = (tf.stop_gradient(value) for value in values)
        dtype = tf.float64 if scores.dtype == tf.float64 else tf.float32
        scores = tf.cast(tf.reshape(scores, [scores.shape[0], -1]), dtype)
        moves = tf.cast(tf.reshape(moves, [moves.shape[0], -1, 4]), dtype)
        boxes, counts, numbers = _proposed(layer, scores, moves)
        if truth is not None:
            return tf.stop_gradient(_drawn(layer, boxes, counts, numbers, truth))
        rest = tf.zeros(counts.shape + [REGION - 5], dtype)
        return tf.concat([boxes, tf.cast(counts, dtype)[..., None], rest], -1)

    return propose


def _proposed(layer, scores, moves):
    """Boxes, whether they count, and the anchors' numbers, after suppression in ``after`` rounds."""
    # Of equal scores the first comes first.
    scores, numbers = tf.math.top_k(scores, layer["before"])
    boxes = tf.gather(tf.constant(anchors(layer), scores.dtype), numbers)
    boxes = decoded(boxes, rows_of(moves, numbers), layer["image"])
    is_large = tf.reduce_all(boxes[..., 2:] - boxes[..., :2] >= layer["smallest"], -1)
    shares, places = overlaps(boxes, boxes), tf.range(layer["before"])
    lowest = tf.constant(LOWEST, scores.dtype)
    scores = tf.where(is_large, scores, lowest)
    kept, counts = [], []
    for _ in range(layer["after"]):
        best = tf.argmax(scores, 1, tf.int32)[:, None]
        kept.append(best)
        counts.append(rows_of(scores, best) > lowest)
        is_gone = (rows_of(shares, best)[:, 0] > layer["overlap"]) | (places == best)
        scores = tf.where(is_gone, lowest, scores)
    kept = tf.concat(kept, 1)
    return rows_of(boxes, kept), tf.concat(counts, 1), rows_of(numbers, kept)


def _drawn(layer, boxes, counts, numbers, truth):
    """As many regions, by the priorities of their anchors, at most a quarter of them objects."""
    objects, quota = layer["objects"], layer["after"] // 4
    true = tf.reshape(truth[:, : objects * TRUTH], [-1, objects, TRUTH])
    most = len(anchors(layer)) + objects
    priorities, own, classes = truth[:, -most:], true[..., :4], true[..., 4]
    boxes, counts = tf.concat([own, boxes], 1), tf.concat([classes > 0, counts], 1)
    keys = tf.concat([priorities[:, -objects:], rows_of(priorities, numbers)], 1)
    none = tf.constant(-1, truth.dtype)
    shares = tf.where((classes > 0)[:, None], overlaps(boxes, own), none)
    best, nearest = tf.reduce_max(shares, 2), tf.argmax(shares, 2, tf.int32)
    on, off = counts & (best >= MATCH), counts & (best < MATCH)
    before = tf.math.count_nonzero(on[:, None] & (keys[:, None] > keys[:, :, None]), 2)
    keys = tf.where(on & (before < quota), keys + most, tf.where(off, keys, none))
    keys, drawn = tf.math.top_k(keys, layer["after"])
    regions, nearest = rows_of(boxes, drawn), rows_of(nearest, drawn)
    counts, on = (tf.cast(keys >= least, keys.dtype)[..., None] for least in (0, most))
    # Any box will do where none is left, but it must have a size.
    regions = tf.where(counts > 0, regions, tf.constant([0, 0, 16, 16], regions.dtype))
    labels = rows_of(classes, nearest)[..., None] * on
    targets = encoded(regions, rows_of(own, nearest)) / tf.constant(DEVIATIONS, regions.dtype) * on
    return tf.concat([regions, counts, labels, targets], -1)


def roi_align(layer, arrays):
    """The mean of 2×2 bilinear samples in each of size×size parts of a region.

    tf.image.crop_and_resize has no float64.
    """
    size, stride = layer["size"], layer["stride"]

    def align(values, truth):
        pixels, boxes = tf.cast(values[0], values[1].dtype), values[1][..., :4] / stride
        batch, height, width, channels = pixels.shape
        top, down = _places(size, boxes[..., 1], boxes[..., 3], height)
        left, right = _places(size, boxes[..., 0], boxes[..., 2], width)
        down, right = down[..., :, None, None], right[..., None, :, None]
        pixels, images = tf.reshape(pixels, [-1, channels]), tf.range(batch)[:, None, None, None] * height

        def at(below, right_by):
            return tf.gather(pixels, (images + (top + below)[..., :, None]) * width + (left + right_by)[..., None, :])

        upper, lower = (at(below, 0) * (1 - right) + at(below, 1) * right for below in (0, 1))
        samples = tf.reshape(upper * (1 - down) + lower * down, [batch, -1, size, 2, size, 2, channels])
        parts = tf.transpose(tf.reduce_mean(samples, [3, 5]), [0, 1, 4, 2, 3])
        return tf.reshape(parts, [batch, -1, channels * size * size])

    return align


def _places(size, low, high, cells):
    """The cell before each sample and the distance from its centre."""
    shares = (tf.range(2 * size, dtype=low.dtype) + 0.5) / (2 * size)
    places = tf.clip_by_value(low[..., None] + (high - low)[..., None] * shares - 0.5, 0, cells - 1)
    first = tf.minimum(tf.floor(places), cells - 2)
    return tf.cast(first, tf.int32), places - first


def detections(layer, arrays):
    """Everything that the loss and the evaluation need, as a row for each image."""

    def gather(values, truth):
        regions = values[2]
        parts = [tf.cast(tf.reshape(value, [regions.shape[0], -1]), regions.dtype) for value in values]
        return tf.concat(parts, 1)

    return gather


def smooth(differences):
    """Smooth L1, summed over the four numbers of a box."""
    size = tf.abs(differences)
    return tf.reduce_sum(tf.where(size < 1, 0.5 * size * size, size - 0.5), -1)


def detection_loss(network, outputs, labels):
    """The sum of the four losses, each divided by the number of its samples: one answer."""
    last, layer = network["layers"][-1], regions_of(network)
    count, regions, kinds, samples = last["anchors"], last["regions"], last["kinds"], layer["samples"]
    widths = [count, 4 * count, REGION * regions, kinds * regions, 4 * kinds * regions]
    scores, moves, drawn, classes, changes = tf.split(outputs, widths, 1)
    first = layer["objects"] * TRUTH
    sampled = tf.reshape(labels[:, first : first + samples * SAMPLE], [-1, samples, SAMPLE])
    numbers, counts, on = tf.cast(sampled[..., 0], tf.int32), sampled[..., 1], sampled[..., 2]
    scores, moves = rows_of(scores, numbers), rows_of(tf.reshape(moves, [-1, count, 4]), numbers)
    objectness = tf.nn.sigmoid_cross_entropy_with_logits(labels=on, logits=scores) * counts
    of_boxes = smooth(moves - sampled[..., 3:]) * on
    of_anchors = (tf.reduce_sum(objectness) + tf.reduce_sum(of_boxes)) / tf.reduce_sum(counts)
    drawn = tf.stop_gradient(tf.reshape(drawn, [-1, REGION]))
    counts, answers = drawn[:, 4], tf.cast(drawn[:, 5], tf.int32)
    classes, changes = tf.reshape(classes, [-1, kinds]), tf.reshape(changes, [-1, kinds, 4])
    entropy = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=answers, logits=classes) * counts
    own = tf.gather(changes, answers, batch_dims=1)
    of_boxes = smooth(own - drawn[:, 6:]) * tf.cast(answers > 0, drawn.dtype)
    return of_anchors + (tf.reduce_sum(entropy) + tf.reduce_sum(of_boxes)) / tf.reduce_sum(counts), 1


# Layers with several inputs, and in training with the truth.
DETECTION = {"region_proposals": region_proposals, "roi_align": roi_align, "detections": detections}
