"""Residual networks (He et al. 2015), which several of the studies trained."""

from typing import Literal

from pytest_dlbench.model import (
    Add,
    AvgPool,
    BatchNorm,
    Branch,
    Conv2D,
    Dense,
    Flatten,
    GlobalAvgPool,
    MaxPool,
    PadChannels,
    ReLU,
)

Variant = Literal["v1", "v1.5"]
# Table 1, column 50-layer: blocks per stage, and the channels inside a block; its output has four times as many.
_STAGES = ((3, 64), (4, 128), (6, 256), (3, 512))
STEM_224: Branch = (
    Conv2D(64, 7, stride=2, padding=3, bias=False),
    BatchNorm(),
    ReLU(),
    MaxPool(3, stride=2, padding=1),
)
STEM_32: Branch = (Conv2D(64, 3, padding=1, bias=False), BatchNorm(), ReLU())


def resnet50(classes: int | None, variant: Variant, stem: Branch = STEM_224) -> Branch:
    """ResNet-50. At the start of a stage, v1 strides in the first 1×1 convolution (Caffe), v1.5 in the 3×3 one (Torch).

    Without ``classes`` it ends with the 2,048 features after the global pooling.
    """
    classifier = () if classes is None else (Dense(classes),)
    return (*stem, *_bottlenecks(_STAGES, variant), GlobalAvgPool(), Flatten(), *classifier)


def resnet50_for_detectors() -> Branch:
    """ResNet-50 v1 without its last stage: 1,024 channels at a sixteenth of the image's sides."""
    return (*STEM_224, *_bottlenecks(_STAGES[:-1], "v1"))


def resnet56() -> Branch:
    """The CIFAR-10 network of section 4.2 with n = 9; parameter-free shortcuts (option A, here a 2×2 mean)."""
    first = (Conv2D(16, 3, padding=1, bias=False), BatchNorm(), ReLU())
    blocks = tuple(
        layer
        for channels in (16, 32, 64)
        for number in range(9)
        for layer in _basic(channels, is_narrowing=channels > 16 and not number)
    )
    return (*first, *blocks, GlobalAvgPool(), Flatten(), Dense(10))


def _bottlenecks(stages: tuple[tuple[int, int], ...], variant: Variant) -> Branch:
    return tuple(
        layer
        for stage, (count, channels) in enumerate(stages)
        for number in range(count)
        for layer in _bottleneck(channels, 2 if stage and not number else 1, variant, is_first=not number)
    )


def _bottleneck(channels: int, stride: int, variant: Variant, *, is_first: bool) -> Branch:
    outside = 4 * channels
    strides = (stride, 1) if variant == "v1" else (1, stride)
    body = (
        Conv2D(channels, 1, stride=strides[0], bias=False),
        BatchNorm(),
        ReLU(),
        Conv2D(channels, 3, stride=strides[1], padding=1, bias=False),
        BatchNorm(),
        ReLU(),
        Conv2D(outside, 1, bias=False),
        BatchNorm(),
    )
    shortcut = (Conv2D(outside, 1, stride=stride, bias=False), BatchNorm()) if is_first else ()
    return (Add(body, shortcut), ReLU())


def _basic(channels: int, *, is_narrowing: bool) -> Branch:
    body = (
        Conv2D(channels, 3, stride=2 if is_narrowing else 1, padding=1, bias=False),
        BatchNorm(),
        ReLU(),
        Conv2D(channels, 3, padding=1, bias=False),
        BatchNorm(),
    )
    shortcut = (AvgPool(2), PadChannels(channels)) if is_narrowing else ()
    return (Add(body, shortcut), ReLU())
