"""A PyTorch whose detectors do one thing differently, named by the variable FAULT."""

import os

import torch
from dlworker.frameworks import pytorch
from dlworker.frameworks.pytorch import SUPPORTS, configure, detection, threads, versions
from dlworker.frameworks.pytorch.detection import RegionProposals, RoIAlign

__all__ = ["SUPPORTS", "Trainer", "configure", "threads", "versions"]


def unaligned(trainer):
    """Pixel centres at whole numbers."""
    for module in trainer.model.modules():
        if isinstance(module, RoIAlign):
            align, half = module.forward, module.stride / 2
            module.forward = lambda x, regions, align=align, half=half: align(
                x, torch.cat([regions[..., :4] + half, regions[..., 4:]], -1)
            )


def gradient_through_proposals(trainer):
    """Proposed boxes as functions of the weights."""
    RegionProposals.forward = RegionProposals.forward.__wrapped__


def unweighted_boxes(trainer):
    """Boxes on the background are trained towards no move."""
    smooth = detection.smooth

    class Everywhere:
        """A sum over boxes that a mask does not change."""

        def __init__(self, values):
            self.values = values

        def __mul__(self, mask):
            return self.values

    detection.smooth = lambda differences: Everywhere(smooth(differences))


def suppressed_at_the_limit(trainer):
    """An intersection over union that is equal to the limit suppresses, too."""
    for module in trainer.model.modules():
        if isinstance(module, RegionProposals):
            # No other overlap is as close.
            module.layer = dict(module.layer, overlap=module.layer["overlap"] - 1e-6)


def last_image_dropped(trainer):
    """All but one image of a split are evaluated."""
    outputs = trainer.outputs
    trainer.outputs = lambda inputs, batch_size: outputs(inputs[:-1], batch_size)


def none(trainer):
    """No fault."""


PLANTED = (unaligned, gradient_through_proposals, unweighted_boxes, suppressed_at_the_limit, last_image_dropped)
FAULTS = {fault.__name__: fault for fault in (*PLANTED, none)}


class Trainer(pytorch.Trainer):
    """With the fault."""

    def __init__(self, *arguments):
        super().__init__(*arguments)
        FAULTS[os.environ["FAULT"]](self)
