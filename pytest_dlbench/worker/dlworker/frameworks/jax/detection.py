"""The layers and the loss of detectors, which JAX has none of. Features are channels last."""

import jax
import jax.numpy as jnp
import optax
from jax import lax

from dlworker.detection import DEVIATIONS, LARGEST_MOVE, MATCH, REGION, SAMPLE, TRUTH, anchors, regions_of

# Below every score and priority.
LOWEST = -1e30


def decoded(boxes, moves, image):
    """Boxes after moves, within the image."""
    sizes = boxes[..., 2:] - boxes[..., :2]
    centres = (boxes[..., 2:] + boxes[..., :2]) / 2 + moves[..., :2] * sizes
    sizes = sizes * jnp.exp(jnp.minimum(moves[..., 2:], LARGEST_MOVE))
    corners = jnp.concatenate([centres - sizes / 2, centres + sizes / 2], -1)
    return jnp.clip(corners, 0, jnp.array([image[1], image[0]] * 2, corners.dtype))


def encoded(boxes, targets):
    """The moves that turn boxes into targets."""
    sizes, wanted = boxes[..., 2:] - boxes[..., :2], jnp.maximum(targets[..., 2:] - targets[..., :2], 1)
    centres = (targets[..., 2:] + targets[..., :2] - boxes[..., 2:] - boxes[..., :2]) / 2
    return jnp.concatenate([centres / sizes, jnp.log(wanted / sizes)], -1)


def overlaps(first, second):
    """Intersection over union of the boxes of each image."""
    low = jnp.maximum(first[:, :, None, :2], second[:, None, :, :2])
    high = jnp.minimum(first[:, :, None, 2:], second[:, None, :, 2:])
    common = jnp.maximum(high - low, 0).prod(-1)
    areas = [(boxes[..., 2:] - boxes[..., :2]).prod(-1) for boxes in (first, second)]
    return common / jnp.maximum(areas[0][:, :, None] + areas[1][:, None] - common, 1e-9)


def rows_of(values, numbers):
    """The rows with these numbers, image by image."""
    return jnp.take_along_axis(values, numbers[..., None], 1)


def region_proposals(layer, values, truth):
    """Proposed boxes, or with the truth in training regions drawn from them and the true boxes."""
    scores, moves = (lax.stop_gradient(value) for value in values)
    dtype = jnp.promote_types(scores.dtype, jnp.float32)
    scores, moves = (
        scores.reshape(len(scores), -1).astype(dtype),
        moves.reshape(len(moves), -1, 4).astype(dtype),
    )
    boxes, counts, numbers = _proposed(layer, scores, moves)
    if truth is not None:
        return lax.stop_gradient(_drawn(layer, boxes, counts, numbers, truth))
    return jnp.concatenate([boxes, counts[..., None], jnp.zeros((*counts.shape, REGION - 5), dtype)], -1)


def _proposed(layer, scores, moves):
    """Boxes, whether they count, and the anchors' numbers, after suppression in ``after`` rounds."""
    scores, numbers = lax.top_k(scores, layer["before"])
    boxes = decoded(jnp.asarray(anchors(layer), scores.dtype)[numbers], rows_of(moves, numbers), layer["image"])
    is_large = (boxes[..., 2:] - boxes[..., :2] >= layer["smallest"]).all(-1)
    shares, images = overlaps(boxes, boxes), jnp.arange(len(boxes))

    def suppress(scores, _):
        number = scores.argmax(1)
        is_left = scores[images, number] > LOWEST
        scores = jnp.where(shares[images, number] > layer["overlap"], LOWEST, scores)
        return scores.at[images, number].set(LOWEST), (number, is_left)

    _, (kept, counts) = lax.scan(suppress, jnp.where(is_large, scores, LOWEST), length=layer["after"])
    kept = kept.T
    return rows_of(boxes, kept), counts.T, jnp.take_along_axis(numbers, kept, 1)


def _drawn(layer, boxes, counts, numbers, truth):
    """As many regions, by the priorities of their anchors, at most a quarter of them objects."""
    objects, quota = layer["objects"], layer["after"] // 4
    true = truth[:, : objects * TRUTH].reshape(len(truth), objects, TRUTH)
    most = len(anchors(layer)) + objects
    priorities, own, classes = truth[:, -most:], true[..., :4], true[..., 4]
    boxes, counts = jnp.concatenate([own, boxes], 1), jnp.concatenate([classes > 0, counts], 1)
    keys = jnp.concatenate([priorities[:, -objects:], jnp.take_along_axis(priorities, numbers, 1)], 1)
    shares = jnp.where((classes > 0)[:, None], overlaps(boxes, own), -1)
    best, nearest = shares.max(2), shares.argmax(2)
    on, off = counts & (best >= MATCH), counts & (best < MATCH)
    before = (on[:, None] & (keys[:, None] > keys[:, :, None])).sum(2)
    keys = jnp.where(on & (before < quota), keys + most, jnp.where(off, keys, -1))
    keys, drawn = lax.top_k(keys, layer["after"])
    regions, nearest = rows_of(boxes, drawn), jnp.take_along_axis(nearest, drawn, 1)
    counts, on = (keys >= 0)[..., None], (keys >= most)[..., None]
    # Any box will do where none is left, but it must have a size.
    regions = jnp.where(counts, regions, jnp.array([0, 0, 16, 16], regions.dtype))
    labels = jnp.take_along_axis(classes, nearest, 1)[..., None] * on
    targets = encoded(regions, rows_of(own, nearest)) / jnp.array(DEVIATIONS, regions.dtype) * on
    return jnp.concatenate([regions, counts, labels, targets], -1)


def roi_align(layer, values, truth):
    """The mean of 2×2 bilinear samples in each of size×size parts of a region."""
    pixels, boxes = values[0].astype(values[1].dtype), values[1][..., :4] / layer["stride"]
    batch, height, width, channels = pixels.shape
    size, images = layer["size"], jnp.arange(batch)[:, None, None, None]
    top, down = _places(size, boxes[..., 1], boxes[..., 3], height)
    left, right = _places(size, boxes[..., 0], boxes[..., 2], width)
    down, right = down[..., :, None, None], right[..., None, :, None]

    def at(below, right_by):
        return pixels[images, (top + below)[..., :, None], (left + right_by)[..., None, :]]

    upper, lower = (at(below, 0) * (1 - right) + at(below, 1) * right for below in (0, 1))
    samples = (upper * (1 - down) + lower * down).reshape(batch, -1, size, 2, size, 2, channels)
    return jnp.moveaxis(samples.mean((3, 5)), -1, 2).reshape(batch, -1, channels * size * size)


def _places(size, low, high, cells):
    """The cell before each sample and the distance from its centre."""
    shares = (jnp.arange(2 * size, dtype=low.dtype) + 0.5) / (2 * size)
    places = jnp.clip(low[..., None] + (high - low)[..., None] * shares - 0.5, 0, cells - 1)
    first = jnp.minimum(jnp.floor(places), cells - 2)
    return first.astype(jnp.int32), places - first


def detections(layer, values, truth):
    """Everything that the loss and the evaluation need, as a row for each image."""
    regions = values[2]
    return jnp.concatenate([value.reshape(len(regions), -1).astype(regions.dtype) for value in values], 1)


def smooth(differences):
    """Smooth L1, summed over the four numbers of a box."""
    return optax.huber_loss(differences).sum(-1)


def detection_loss(network, outputs, labels):
    """The sum of the four losses, each divided by the number of its samples."""
    last, layer = network["layers"][-1], regions_of(network)
    count, regions, kinds, samples = last["anchors"], last["regions"], last["kinds"], layer["samples"]
    first, batch = layer["objects"] * TRUTH, len(outputs)
    ends = [count, 5 * count, 5 * count + REGION * regions, 5 * count + (REGION + kinds) * regions]
    scores, moves, drawn, classes, changes = jnp.split(outputs, ends, axis=1)
    sampled = labels[:, first : first + samples * SAMPLE].reshape(batch, samples, SAMPLE)
    numbers, counts, on = sampled[..., 0].astype(jnp.int32), sampled[..., 1], sampled[..., 2]
    scores = jnp.take_along_axis(scores, numbers, 1)
    moves = rows_of(moves.reshape(batch, count, 4), numbers)
    objectness = (jax.nn.softplus(scores) - on * scores) * counts
    of_anchors = (objectness.sum() + (smooth(moves - sampled[..., 3:]) * on).sum()) / counts.sum()
    drawn = lax.stop_gradient(drawn.reshape(-1, REGION))
    counts, answers = drawn[:, 4], drawn[:, 5].astype(jnp.int32)
    entropy = optax.softmax_cross_entropy_with_integer_labels(classes.reshape(-1, kinds), answers) * counts
    own = changes.reshape(-1, kinds, 4)[jnp.arange(len(answers)), answers]
    boxes = smooth(own - drawn[:, 6:]) * (answers > 0)
    return of_anchors + (entropy.sum() + boxes.sum()) / counts.sum()


# Layers with several inputs, and in training with the truth: (layer, values, truth) -> x.
DETECTION = {"region_proposals": region_proposals, "roi_align": roi_align, "detections": detections}
