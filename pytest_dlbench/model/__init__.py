"""The neutral vocabulary: a model is written once, here, and built by every framework in its own idiom."""

from pytest_dlbench.model.layers import (
    AvgPool,
    BatchNorm,
    Conv2D,
    Dense,
    Dropout,
    Flatten,
    Layer,
    MaxPool,
    Parameter,
    ReLU,
    Sigmoid,
    Tanh,
)
from pytest_dlbench.model.model import Model, SoftmaxCrossEntropy
from pytest_dlbench.model.network import Network, infer
from pytest_dlbench.model.recipe import SGD, Recipe
from pytest_dlbench.model.shapes import Shape

__all__ = [
    "SGD",
    "AvgPool",
    "BatchNorm",
    "Conv2D",
    "Dense",
    "Dropout",
    "Flatten",
    "Layer",
    "MaxPool",
    "Model",
    "Network",
    "Parameter",
    "ReLU",
    "Recipe",
    "Shape",
    "Sigmoid",
    "SoftmaxCrossEntropy",
    "Tanh",
    "infer",
]
