"""What a detector of objects is made of, besides convolutions and dense layers (Ren et al. 2015, Faster R-CNN)."""

from dataclasses import dataclass
from math import prod
from typing import Any, ClassVar

from pytest_dlbench.errors import ModelError
from pytest_dlbench.model.layers.layer import DoesNotFit, Inferred, require_image, require_positive, require_sequence
from pytest_dlbench.model.layers.merging import Branch
from pytest_dlbench.model.shapes import Pair, Shape

# Of a region: its box, whether it counts, its class in training, and what its box is to become.
REGION = 4 + 1 + 1 + 4
BOX = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Anchors:
    """Boxes of the given ``shapes`` (height, width) in pixels around the centre of each cell of ``stride`` pixels."""

    shapes: tuple[Pair, ...]
    stride: int

    def __post_init__(self) -> None:
        require_positive((len(self.shapes), self.stride), "the number of anchors and their stride")
        for shape in self.shapes:
            require_positive(shape, "the shape of an anchor")


@dataclass(frozen=True, slots=True, kw_only=True)
class RegionProposals:
    """Boxes that may contain an object: ``after`` for each image.

    ``trunk`` goes over the features; two 1×1 convolutions after it score each anchor and move its edges. Of the
    ``before`` anchors with the highest scores, boxes with sides below ``smallest`` pixels are dropped, and so is a box
    whose intersection over union with a better one is above ``overlap``. No gradient goes through the boxes.

    In training, ``samples`` anchors of each image are scored, and the regions are drawn from the proposals and the true
    boxes, at most a quarter of them objects.
    """

    kind: ClassVar[str] = "region_proposals"
    prefix: ClassVar[str] = "regions"
    anchors: Anchors
    trunk: Branch
    before: int
    after: int
    samples: int
    overlap: float = 0.7
    smallest: float = 2.0

    def __post_init__(self) -> None:
        require_positive((self.before, self.after, self.samples), "RegionProposals before, after and samples")
        if not 0 < self.overlap <= 1:
            raise ModelError(f"RegionProposals overlap must be above 0 and at most 1, got {self.overlap!r}")

    def propose(self, scores: Shape, image: Shape, objects: int) -> Inferred:
        """The regions, given the shape of the scores and of the image."""
        _, *cells = require_image(scores, "RegionProposals")
        if len(image) != 3:
            raise DoesNotFit("RegionProposals needs a model of images")
        count = prod(scores)
        if max(self.before, self.samples) > count or self.after > self.before:
            raise DoesNotFit(
                f"{count} anchors are too few for {self.before} before and {self.after} after suppression and"
                f" {self.samples} samples; after must be at most before"
            )
        geometry: dict[str, Any] = {
            "anchors": self.anchors.shapes,
            "stride": self.anchors.stride,
            "cells": cells,
            "image": image[1:],
            "before": self.before,
            "after": self.after,
            "samples": self.samples,
            "overlap": self.overlap,
            "smallest": self.smallest,
            "objects": objects,
        }
        return Inferred(output=(self.after, REGION), geometry=geometry)


@dataclass(frozen=True, slots=True)
class RoIAlign:
    """The features of each region as a vector: ``size``×``size`` means of 2×2 bilinear samples (He et al. 2017).

    Pixel centres are at half a pixel. It comes after ``RegionProposals``, whose features it reads.
    """

    kind: ClassVar[str] = "roi_align"
    prefix: ClassVar[str] = "align"
    size: int

    def __post_init__(self) -> None:
        require_positive((self.size,), "RoIAlign size")

    def align(self, features: Shape, regions: Shape, stride: int) -> Inferred:
        """A vector for each region, in channel, row, column order."""
        channels, height, width = require_image(features, "RoIAlign")
        if min(height, width) < 2:
            raise DoesNotFit("RoIAlign interpolates between two rows and columns of features or more")
        output = (regions[0], channels * self.size * self.size)
        return Inferred(output=output, geometry={"size": self.size, "stride": stride})


@dataclass(frozen=True, slots=True)
class Detections:
    """The end of a detector: two dense layers give each region a score per class and a box per class.

    Class 0 is the background. The output is a row: the anchors' scores and moves, the regions, their scores and moves.
    """

    kind: ClassVar[str] = "detections"
    prefix: ClassVar[str] = "detections"
    classes: int

    def __post_init__(self) -> None:
        require_positive((self.classes,), "Detections classes")

    def gather(self, scores: Shape, features: Shape) -> Inferred:
        """The row, given the shapes of the anchors' scores and of the regions' features."""
        regions, _ = require_sequence(features, "Detections")
        kinds = self.classes + 1
        width = (1 + BOX) * prod(scores) + regions * (REGION + (1 + BOX) * kinds)
        return Inferred(output=(width,), geometry={"anchors": prod(scores), "regions": regions, "kinds": kinds})
