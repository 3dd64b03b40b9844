"""GoogLeNet (Szegedy et al. 2014) and Inception-v3 (Szegedy et al. 2015), without auxiliary heads."""

from pytest_dlbench.model import (
    AvgPool,
    BatchNorm,
    Branch,
    Concat,
    Conv2D,
    Dense,
    Dropout,
    Flatten,
    GlobalAvgPool,
    LocalResponseNorm,
    MaxPool,
    ReLU,
)
from pytest_dlbench.model.layers.window import Padding
from pytest_dlbench.model.shapes import Pair

# GoogLeNet, table 1: 1×1; 3×3 reduce and 3×3; 5×5 reduce and 5×5; pool projection. None is a pooling between stages.
_GOOGLENET = (
    (64, 96, 128, 16, 32, 32),
    (128, 128, 192, 32, 96, 64),
    None,
    (192, 96, 208, 16, 48, 64),
    (160, 112, 224, 24, 64, 64),
    (128, 128, 256, 24, 64, 64),
    (112, 144, 288, 32, 64, 64),
    (256, 160, 320, 32, 128, 128),
    None,
    (256, 160, 320, 32, 128, 128),
    (384, 192, 384, 48, 128, 128),
)
_POOL = MaxPool(3, stride=2, ceil=True)


def _conv(filters: int, kernel: int, stride: int = 1) -> Branch:
    return (Conv2D(filters, kernel, stride=stride, padding=kernel // 2), ReLU())


GOOGLENET_STEM_224: Branch = (
    *_conv(64, 7, 2),
    _POOL,
    LocalResponseNorm(),
    *_conv(64, 1),
    *_conv(192, 3),
    LocalResponseNorm(),
    _POOL,
)
GOOGLENET_STEM_32: Branch = (*_conv(64, 3), LocalResponseNorm(), *_conv(192, 3), LocalResponseNorm())


def googlenet(classes: int, stem: Branch = GOOGLENET_STEM_224) -> Branch:
    """Inception v1 in Caffe's form: biases, local response normalisation, pooling that rounds up."""
    stages = tuple(layer for widths in _GOOGLENET for layer in (_inception(widths) if widths else (_POOL,)))
    return (*stem, *stages, GlobalAvgPool(), Flatten(), Dropout(0.4), Dense(classes))


def _inception(widths: tuple[int, ...]) -> Branch:
    one, reduce3, three, reduce5, five, pooled = widths
    branches = (
        _conv(one, 1),
        (*_conv(reduce3, 1), *_conv(three, 3)),
        (*_conv(reduce5, 1), *_conv(five, 5)),
        (MaxPool(3, stride=1, padding=1), *_conv(pooled, 1)),
    )
    return (Concat(*branches),)


def inception_v3(classes: int) -> Branch:
    """Inception-v3 for 3×299×299: table 1, with factorised 7×7 and 3×3 convolutions, batch norm before each ReLU."""
    pool = MaxPool(3, stride=2)
    stem = (*_norm(32, 3, 2), *_norm(32, 3), *_norm(64, 3, padding="same"), pool, *_norm(80, 1), *_norm(192, 3), pool)
    narrow = (*_module_a(32), *_module_a(64), *_module_a(64), *_reduction_b())
    middle = tuple(layer for width in (128, 160, 160, 192) for layer in _module_c(width))
    wide = (*_reduction_d(), *_module_e(), *_module_e())
    return (*stem, *narrow, *middle, *wide, GlobalAvgPool(), Flatten(), Dropout(0.5), Dense(classes))


def _norm(filters: int, kernel: int | Pair, stride: int = 1, padding: Padding = "valid") -> Branch:
    conv = Conv2D(filters, kernel, stride=stride, padding=padding, bias=False)
    return (conv, BatchNorm(epsilon=1e-3), ReLU())


def _same(*convolutions: tuple[int, int | Pair]) -> Branch:
    return tuple(layer for filters, kernel in convolutions for layer in _norm(filters, kernel, padding="same"))


def _pooled(filters: int) -> Branch:
    return (AvgPool(3, stride=1, padding=1), *_same((filters, 1)))


def _module_a(pooled: int) -> Branch:
    three = _same((64, 1), (96, 3), (96, 3))
    return (Concat(_same((64, 1)), _same((48, 1), (64, 5)), three, _pooled(pooled)),)


def _reduction_b() -> Branch:
    twice = (*_same((64, 1), (96, 3)), *_norm(96, 3, 2))
    return (Concat(_norm(384, 3, 2), twice, (MaxPool(3, stride=2),)),)


def _module_c(width: int) -> Branch:
    row, column = (1, 7), (7, 1)
    once = _same((width, 1), (width, row), (192, column))
    twice = _same((width, 1), (width, column), (width, row), (width, column), (192, row))
    return (Concat(_same((192, 1)), once, twice, _pooled(192)),)


def _reduction_d() -> Branch:
    three = (*_same((192, 1)), *_norm(320, 3, 2))
    seven = (*_same((192, 1), (192, (1, 7)), (192, (7, 1))), *_norm(192, 3, 2))
    return (Concat(three, seven, (MaxPool(3, stride=2),)),)


def _module_e() -> Branch:
    split = Concat(_same((384, (1, 3))), _same((384, (3, 1))))
    once, twice = (*_same((384, 1)), split), (*_same((448, 1), (384, 3)), split)
    return (Concat(_same((320, 1)), once, twice, _pooled(192)),)
