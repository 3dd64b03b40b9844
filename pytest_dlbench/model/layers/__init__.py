"""The layers of the neutral vocabulary, one file for each family."""

from pytest_dlbench.model.layers.activation import ReLU, Sigmoid, Tanh
from pytest_dlbench.model.layers.convolution import Conv2D
from pytest_dlbench.model.layers.dense import Dense, Flatten
from pytest_dlbench.model.layers.layer import DoesNotFit, Inferred, Layer, Parameter
from pytest_dlbench.model.layers.pooling import AvgPool, MaxPool
from pytest_dlbench.model.layers.regularization import BatchNorm, Dropout

__all__ = [
    "AvgPool",
    "BatchNorm",
    "Conv2D",
    "Dense",
    "DoesNotFit",
    "Dropout",
    "Flatten",
    "Inferred",
    "Layer",
    "MaxPool",
    "Parameter",
    "ReLU",
    "Sigmoid",
    "Tanh",
]
