"""The DeepLearningFrameworks repository ("Rosetta Stone", state of June 2018) and the article about it."""

from pytest_dlbench.model import (
    GRU,
    SGD,
    Adam,
    Branch,
    Conv2D,
    Dense,
    Dropout,
    Embedding,
    Features,
    Flatten,
    MaxPool,
    Model,
    Recipe,
    ReLU,
    SigmoidCrossEntropy,
    SoftmaxCrossEntropy,
)
from pytest_dlbench.zoo.densenets import densenet121
from pytest_dlbench.zoo.resnets import resnet50


def _pair(filters: int) -> Branch:
    first, second = (Conv2D(filters, 3, padding="same") for _ in range(2))
    return (first, ReLU(), second, ReLU(), MaxPool(2), Dropout(0.25))


CIFAR10_CNN = Model(
    name="rosetta-cifar10-cnn",
    family="cnn",
    sources=("rosetta",),
    input_shape=(3, 32, 32),
    layers=(*_pair(50), *_pair(100), Flatten(), Dense(512), ReLU(), Dropout(0.5), Dense(10)),
    head=SoftmaxCrossEntropy(classes=10),
    recipe=Recipe(batch_size=64, epochs=10, optimizer=SGD(0.01, momentum=0.9)),
)

# The last 150 tokens. The padding is treated as text, because none of the programs masks it.
IMDB_GRU = Model(
    name="rosetta-imdb-gru",
    family="rnn",
    sources=("rosetta",),
    input_shape=(150,),
    vocabulary=30_000,
    layers=(Embedding(30_000, 125), GRU(100), Dense(2)),
    head=SoftmaxCrossEntropy(classes=2),
    recipe=Recipe(batch_size=64, epochs=3, optimizer=Adam(1e-3)),
)

# Fourteen findings in chest X-rays; 64 images per GPU.
DENSENET121 = Model(
    name="rosetta-densenet121",
    family="cnn",
    sources=("rosetta",),
    more_marks=("slow",),
    input_shape=(3, 224, 224),
    layers=densenet121(14),
    head=SigmoidCrossEntropy(flags=14),
    recipe=Recipe(batch_size=64, epochs=5, optimizer=Adam(1e-4)),
)

# Applied to images, never trained: the programs use its 2,048 features. Some load v1.5, but v1 is meant.
RESNET50_FEATURES = Model(
    name="rosetta-resnet50-features",
    family="cnn",
    sources=("rosetta",),
    more_marks=("inference", "slow"),
    input_shape=(3, 224, 224),
    layers=resnet50(None, "v1"),
    head=Features(width=2048),
    recipe=Recipe(batch_size=32, epochs=1, optimizer=SGD(0.01)),
)

MODELS = (CIFAR10_CNN, IMDB_GRU, DENSENET121, RESNET50_FEATURES)
