"""The layers and the loss of detectors. PyTorch itself has none of the layers."""

import torch
from torch import nn

from dlworker.detection import DEVIATIONS, LARGEST_MOVE, MATCH, REGION, SAMPLE, TRUTH, anchors, regions_of

# Below every score and priority.
LOWEST = -1e30


def decoded(boxes, moves, image):
    """Boxes after moves, within the image."""
    sizes = boxes[..., 2:] - boxes[..., :2]
    centres = (boxes[..., 2:] + boxes[..., :2]) / 2 + moves[..., :2] * sizes
    sizes = sizes * torch.exp(moves[..., 2:].clamp(max=LARGEST_MOVE))
    corners = torch.cat([centres - sizes / 2, centres + sizes / 2], -1)
    return torch.minimum(corners.clamp(min=0), corners.new_tensor([image[1], image[0]] * 2))


def encoded(boxes, targets):
    """The moves that turn boxes into targets."""
    sizes, wanted = boxes[..., 2:] - boxes[..., :2], (targets[..., 2:] - targets[..., :2]).clamp(min=1)
    centres = (targets[..., 2:] + targets[..., :2] - boxes[..., 2:] - boxes[..., :2]) / 2
    return torch.cat([centres / sizes, torch.log(wanted / sizes)], -1)


def overlaps(first, second):
    """Intersection over union of the boxes of each image."""
    low = torch.maximum(first[:, :, None, :2], second[:, None, :, :2])
    high = torch.minimum(first[:, :, None, 2:], second[:, None, :, 2:])
    common = (high - low).clamp(min=0).prod(-1)
    areas = [(boxes[..., 2:] - boxes[..., :2]).prod(-1) for boxes in (first, second)]
    return common / (areas[0][:, :, None] + areas[1][:, None] - common).clamp(min=1e-9)


def rows_of(values, numbers):
    """The rows with these numbers, image by image."""
    return torch.gather(values, 1, numbers[..., None].expand(-1, -1, values.shape[-1]))


class RegionProposals(nn.Module):
    """Proposed boxes, or in training regions drawn from them and the true boxes."""

    def __init__(self, layer):
        super().__init__()
        self.layer = layer
        self.register_buffer("boxes", torch.from_numpy(anchors(layer)), persistent=False)

    @torch.no_grad()
    def forward(self, scores, moves, truth=None):
        dtype = torch.float64 if scores.dtype == torch.float64 else torch.float32
        scores = scores.permute(0, 2, 3, 1).reshape(len(scores), -1).to(dtype)
        moves = moves.permute(0, 2, 3, 1).reshape(len(moves), -1, 4).to(dtype)
        boxes, counts, numbers = self._proposed(scores, moves)
        if truth is not None:
            return self._drawn(boxes, counts, numbers, truth)
        return torch.cat([boxes, counts[..., None].to(dtype), boxes.new_zeros(*counts.shape, REGION - 5)], -1)

    def _proposed(self, scores, moves):
        """Boxes, whether they count, and the anchors' numbers, after suppression in ``after`` rounds."""
        layer = self.layer
        # Of equal scores the first comes first, as in other frameworks; topk leaves it open.
        scores, numbers = (part[:, : layer["before"]] for part in scores.sort(dim=1, descending=True, stable=True))
        boxes = decoded(self.boxes.to(scores.dtype)[numbers], rows_of(moves, numbers), layer["image"])
        is_large = (boxes[..., 2:] - boxes[..., :2] >= layer["smallest"]).all(-1)
        scores = torch.where(is_large, scores, torch.full_like(scores, LOWEST))
        shares, images = overlaps(boxes, boxes), torch.arange(len(boxes), device=boxes.device)
        kept, counts = [], []
        for _ in range(layer["after"]):
            best, number = scores.max(1)
            kept.append(number)
            counts.append(best > LOWEST)
            scores = torch.where(shares[images, number] > layer["overlap"], torch.full_like(scores, LOWEST), scores)
            scores[images, number] = LOWEST
        kept = torch.stack(kept, 1)
        return rows_of(boxes, kept), torch.stack(counts, 1), torch.gather(numbers, 1, kept)

    def _drawn(self, boxes, counts, numbers, truth):
        """As many regions, by the priorities of their anchors, at most a quarter of them objects."""
        objects, quota = self.layer["objects"], self.layer["after"] // 4
        true = truth[:, : objects * TRUTH].reshape(len(truth), objects, TRUTH)
        priorities = truth[:, -len(self.boxes) - objects :]
        own, classes = true[..., :4], true[..., 4]
        boxes, counts = torch.cat([own, boxes], 1), torch.cat([classes > 0, counts], 1)
        keys = torch.cat([priorities[:, -objects:], torch.gather(priorities, 1, numbers)], 1)
        shares = overlaps(boxes, own)
        best, nearest = torch.where((classes > 0)[:, None], shares, torch.full_like(shares, -1)).max(2)
        on, off = counts & (best >= MATCH), counts & (best < MATCH)
        before = (on[:, None] & (keys[:, None] > keys[:, :, None])).sum(2)
        most, none = priorities.shape[1], torch.full_like(keys, -1)
        keys = torch.where(on & (before < quota), keys + most, torch.where(off, keys, none))
        keys, drawn = torch.topk(keys, self.layer["after"])
        regions, nearest = rows_of(boxes, drawn), torch.gather(nearest, 1, drawn)
        counts, on = (keys >= 0).to(keys.dtype)[..., None], (keys >= most).to(keys.dtype)[..., None]
        # Any box will do where none is left, but it must have a size.
        regions = torch.where(counts > 0, regions, regions.new_tensor([0, 0, 16, 16]))
        labels = torch.gather(classes, 1, nearest)[..., None] * on
        targets = encoded(regions, rows_of(own, nearest)) / regions.new_tensor(DEVIATIONS) * on
        return torch.cat([regions, counts, labels, targets], -1)


class RoIAlign(nn.Module):
    """The mean of 2×2 bilinear samples in each of size×size parts of a region."""

    def __init__(self, layer):
        super().__init__()
        self.size, self.stride = layer["size"], layer["stride"]

    def forward(self, features, regions):
        batch, channels, height, width = features.shape
        features, boxes = features.to(regions.dtype), regions[..., :4] / self.stride
        top, down = self._places(boxes[..., 1], boxes[..., 3], height)
        left, right = self._places(boxes[..., 0], boxes[..., 2], width)
        down, right = down[..., :, None, None], right[..., None, :, None]
        pixels = features.permute(0, 2, 3, 1).reshape(-1, channels)
        images = torch.arange(batch, device=boxes.device)[:, None, None, None] * height

        def at(below, right_by):
            places = (images + (top + below)[..., :, None]) * width + (left + right_by)[..., None, :]
            # Its gradient adds whole rows; that of indexing with several tensors is many times slower.
            return pixels.index_select(0, places.reshape(-1)).reshape(*places.shape, channels)

        upper, lower = (at(below, 0) * (1 - right) + at(below, 1) * right for below in (0, 1))
        samples = (upper * (1 - down) + lower * down).permute(0, 1, 4, 2, 3)
        parts = samples.reshape(batch, -1, channels, self.size, 2, self.size, 2)
        return parts.mean((4, 6)).reshape(batch, -1, channels * self.size * self.size)

    def _places(self, low, high, cells):
        """The cell before each sample and the distance from its centre."""
        count = 2 * self.size
        shares = (torch.arange(count, dtype=low.dtype, device=low.device) + 0.5) / count
        places = (low[..., None] + (high - low)[..., None] * shares - 0.5).clamp(0, cells - 1)
        first = places.floor().clamp(max=cells - 2)
        return first.to(torch.int64), places - first


class Detections(nn.Module):
    """Everything that the loss and the evaluation need, as a row for each image."""

    def forward(self, scores, moves, regions, classes, changes):
        anchors = (scores.permute(0, 2, 3, 1), moves.permute(0, 2, 3, 1))
        parts = [part.reshape(len(regions), -1).to(regions.dtype) for part in (*anchors, regions, classes, changes)]
        return torch.cat(parts, 1)


def smooth(differences):
    """Smooth L1, summed over the four numbers of a box."""
    return nn.functional.smooth_l1_loss(differences, torch.zeros_like(differences), reduction="none").sum(-1)


def detection(network):
    """The sum of the four losses, each divided by the number of its samples."""
    last, layer = network["layers"][-1], regions_of(network)
    count, regions, kinds, samples = last["anchors"], last["regions"], last["kinds"], layer["samples"]
    first = layer["objects"] * TRUTH
    widths = [count, 4 * count, REGION * regions, kinds * regions, 4 * kinds * regions]

    def loss(outputs, labels):
        batch = len(outputs)
        scores, moves, drawn, classes, changes = outputs.split(widths, 1)
        sampled = labels[:, first : first + samples * SAMPLE].reshape(batch, samples, SAMPLE)
        numbers, counts, on = sampled[..., 0].to(torch.int64), sampled[..., 1], sampled[..., 2]
        scores, moves = torch.gather(scores, 1, numbers), rows_of(moves.reshape(batch, count, 4), numbers)
        objectness = (nn.functional.softplus(scores) - on * scores) * counts
        of_anchors = (objectness.sum() + (smooth(moves - sampled[..., 3:]) * on).sum()) / counts.sum()
        drawn = drawn.reshape(-1, REGION).detach()
        counts, answers = drawn[:, 4], drawn[:, 5].to(torch.int64)
        entropy = nn.functional.cross_entropy(classes.reshape(-1, kinds), answers, reduction="none") * counts
        own = changes.reshape(-1, kinds, 4)[torch.arange(len(answers), device=answers.device), answers]
        boxes = smooth(own - drawn[:, 6:]) * (answers > 0)
        return of_anchors + (entropy.sum() + boxes.sum()) / counts.sum()

    return loss
