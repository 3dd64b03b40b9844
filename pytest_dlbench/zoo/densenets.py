"""DenseNet-121 (Huang et al. 2017, table 1)."""

from pytest_dlbench.model import (
    AvgPool,
    BatchNorm,
    Branch,
    Concat,
    Conv2D,
    Dense,
    Flatten,
    GlobalAvgPool,
    MaxPool,
    ReLU,
)

_GROWTH = 32
_BLOCKS = (6, 12, 24, 16)


def densenet121(outputs: int) -> Branch:
    """DenseNet-121 for 3×224×224: growth rate 32, bottlenecks of 128, transitions that halve the channels."""
    stem = (Conv2D(64, 7, stride=2, padding=3, bias=False), BatchNorm(), ReLU(), MaxPool(3, stride=2, padding=1))
    layers: list[Branch] = [stem]
    channels = 64
    for number, count in enumerate(_BLOCKS):
        layers += [_grow()] * count
        channels += count * _GROWTH
        if number + 1 < len(_BLOCKS):
            channels //= 2
            layers.append((BatchNorm(), ReLU(), Conv2D(channels, 1, bias=False), AvgPool(2)))
    end = (BatchNorm(), ReLU(), GlobalAvgPool(), Flatten(), Dense(outputs))
    return (*(layer for part in layers for layer in part), *end)


def _grow() -> Branch:
    new = (
        BatchNorm(),
        ReLU(),
        Conv2D(4 * _GROWTH, 1, bias=False),
        BatchNorm(),
        ReLU(),
        Conv2D(_GROWTH, 3, padding=1, bias=False),
    )
    return (Concat((), new),)
