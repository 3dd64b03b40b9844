"""A holistic thesis of 2018 on Caffe, TensorFlow, PyTorch, MXNet and CNTK.

Its LeNet is ``gatech-lenet``. The networks were each framework's own files; these are the published forms. The text
does not describe those for CIFAR-10, so the variants whose names end in -cifar10 are ours: the same blocks after a stem
that keeps 32×32 images large enough, and smaller dense layers. Batch sizes and learning rates were in a picture that is
lost: 32 and 0.01, usual at the time, are ours, too. So are VGG16's initial weights, by He's rule: from Glorot's, its 16
layers without normalisation do not start to learn (docs/reference/zoo.md).
"""

from dataclasses import replace

from pytest_dlbench.model import (
    SGD,
    Branch,
    Conv2D,
    Dense,
    Dropout,
    Flatten,
    LocalResponseNorm,
    MaxPool,
    Model,
    Recipe,
    ReLU,
    Shape,
    SoftmaxCrossEntropy,
)
from pytest_dlbench.zoo.inceptions import GOOGLENET_STEM_32, googlenet
from pytest_dlbench.zoo.resnets import STEM_32, resnet50

_RECIPE = Recipe(batch_size=32, epochs=1, optimizer=SGD(0.01, momentum=0.9))
_FROM_HE = replace(_RECIPE, init="he")


def _model(name: str, shape: Shape, layers: Branch, classes: int, recipe: Recipe = _RECIPE) -> Model:
    return Model(
        name=f"thesis-{name}",
        family="cnn",
        sources=("thesis",),
        more_marks=("slow",),
        input_shape=shape,
        layers=layers,
        head=SoftmaxCrossEntropy(classes=classes),
        recipe=recipe,
    )


def _dense(*widths: int, classes: int) -> Branch:
    hidden = tuple(layer for width in widths for layer in (Dense(width), ReLU(), Dropout(0.5)))
    return (Flatten(), *hidden, Dense(classes))


def _alexnet(first: Branch, groups: int) -> Branch:
    """Krizhevsky et al. 2012 after its first convolution, in Caffe's order."""
    pool = MaxPool(3, stride=2)
    second = (Conv2D(256, 5, padding=2, groups=groups), ReLU(), LocalResponseNorm(), pool)
    third = (Conv2D(384, 3, padding=1), ReLU(), Conv2D(384, 3, padding=1, groups=groups), ReLU())
    return (
        *first,
        ReLU(),
        LocalResponseNorm(),
        pool,
        *second,
        *third,
        Conv2D(256, 3, padding=1, groups=groups),
        ReLU(),
        pool,
    )


def _vgg16() -> Branch:
    """Simonyan & Zisserman 2014, table 1, column D."""
    stages = ((2, 64), (2, 128), (3, 256), (3, 512), (3, 512))
    convolution = {filters: (Conv2D(filters, 3, padding=1), ReLU()) for _, filters in stages}
    return tuple(layer for count, filters in stages for layer in (*convolution[filters] * count, MaxPool(2)))


MODELS = (
    _model(
        "alexnet", (3, 227, 227), (*_alexnet((Conv2D(96, 11, stride=4),), 2), *_dense(4096, 4096, classes=1000)), 1000
    ),
    _model("googlenet", (3, 224, 224), googlenet(1000), 1000),
    _model("resnet-50", (3, 224, 224), resnet50(1000, "v1"), 1000),
    _model("vgg16", (3, 224, 224), (*_vgg16(), *_dense(4096, 4096, classes=1000)), 1000, _FROM_HE),
    _model("alexnet-cifar10", (3, 32, 32), (*_alexnet((Conv2D(96, 5, padding=2),), 2), *_dense(512, classes=10)), 10),
    _model("googlenet-cifar10", (3, 32, 32), googlenet(10, GOOGLENET_STEM_32), 10),
    _model("resnet-50-cifar10", (3, 32, 32), resnet50(10, "v1", STEM_32), 10),
    _model("vgg16-cifar10", (3, 32, 32), (*_vgg16(), *_dense(512, classes=10)), 10, _FROM_HE),
)
