"""Faster R-CNN (Ren et al. 2015), which the tartu study trained on VOC 2012, here in a size for shapes.

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


MODELS = (SHAPES,)
