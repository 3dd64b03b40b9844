"""Faster R-CNN (Ren et al. 2015): for VOC 2012, on which the tartu study trained it, and in a size for shapes.

The regions that the second stage is trained on are as many as it is tested on; each image has one sample of anchors.
"""

from pytest_dlbench.model import (
    Adam,
    Anchors,
    Conv2D,
    Dense,
    DetectionLoss,
    Detections,
    Model,
    Recipe,
    RegionProposals,
    ReLU,
    RoIAlign,
)
from pytest_dlbench.zoo.resnets import resnet50_for_detectors

# Trains within minutes on two processor cores.
SHAPES = Model(
    name="faster-rcnn-shapes",
    family="detection",
    input_shape=(3, 96, 96),
    layers=(
        Conv2D(16, 3, stride=2, padding=1),
        ReLU(),
        Conv2D(32, 3, stride=2, padding=1),
        ReLU(),
        Conv2D(48, 3, stride=2, padding=1),
        ReLU(),
        RegionProposals(
            anchors=Anchors(shapes=((20, 20), (32, 32), (44, 44), (20, 40), (40, 20)), stride=8),
            trunk=(Conv2D(48, 3, padding=1), ReLU()),
            before=64,
            after=16,
            samples=32,
        ),
        RoIAlign(5),
        Dense(64),
        ReLU(),
        Detections(3),
    ),
    head=DetectionLoss(classes=3, objects=4),
    recipe=Recipe(batch_size=8, epochs=30, optimizer=Adam(1e-3)),
)

# Of three sizes (128, 256 and 512 pixels) and three ratios of the sides, as in section 3.1.1 of Ren et al.
_ANCHORS = tuple(
    shape
    for side, shorter, longer in ((128, 91, 181), (256, 181, 362), (512, 362, 724))
    for shape in ((side, side), (shorter, longer), (longer, shorter))
)
# The study's text has the backbone, Adam's rate, a weight decay of 5e-4 that is not Adam's own, and the number of
# epochs, and no more of its network. Two dense layers follow the regions (Lin et al. 2017, section 5.2), because the
# last stage of ResNet-50 would need images.
VOC = Model(
    name="faster-rcnn-voc",
    family="detection",
    more_marks=("slow",),
    input_shape=(3, 600, 600),
    layers=(
        *resnet50_for_detectors(),
        RegionProposals(
            anchors=Anchors(shapes=_ANCHORS, stride=16),
            trunk=(Conv2D(512, 3, padding=1), ReLU()),
            before=2000,
            after=128,
            samples=256,
        ),
        RoIAlign(7),
        Dense(1024),
        ReLU(),
        Dense(1024),
        ReLU(),
        Detections(20),
    ),
    head=DetectionLoss(classes=20, objects=64),
    recipe=Recipe(batch_size=2, epochs=100, optimizer=Adam(1e-4)),
)


MODELS = (SHAPES, VOC)
