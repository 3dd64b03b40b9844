"""The layers of the neutral vocabulary, one file per family."""

from pytest_dlbench.model.layers.activation import GELU, LogSoftmax, ReLU, Sigmoid, Tanh
from pytest_dlbench.model.layers.attention import Attention, FirstStep, Positions, TiedDense
from pytest_dlbench.model.layers.convolution import Conv2D
from pytest_dlbench.model.layers.dense import Dense
from pytest_dlbench.model.layers.detection import Anchors, Detections, RegionProposals, RoIAlign
from pytest_dlbench.model.layers.layer import Chained, DoesNotFit, Inferred, Layer, Parameter
from pytest_dlbench.model.layers.merging import Add, Branch, Concat
from pytest_dlbench.model.layers.pooling import AvgPool, GlobalAvgPool, MaxPool
from pytest_dlbench.model.layers.recurrent import GRU, LSTM, Conditioned, Embedding
from pytest_dlbench.model.layers.regularization import BatchNorm, Dropout, LayerNorm, LocalResponseNorm
from pytest_dlbench.model.layers.shaping import Cut, Flatten, PadChannels

__all__ = [
    "GELU",
    "GRU",
    "LSTM",
    "Add",
    "Anchors",
    "Attention",
    "AvgPool",
    "BatchNorm",
    "Branch",
    "Chained",
    "Concat",
    "Conditioned",
    "Conv2D",
    "Cut",
    "Dense",
    "Detections",
    "DoesNotFit",
    "Dropout",
    "Embedding",
    "FirstStep",
    "Flatten",
    "GlobalAvgPool",
    "Inferred",
    "Layer",
    "LayerNorm",
    "LocalResponseNorm",
    "LogSoftmax",
    "MaxPool",
    "PadChannels",
    "Parameter",
    "Positions",
    "ReLU",
    "RegionProposals",
    "RoIAlign",
    "Sigmoid",
    "Tanh",
    "TiedDense",
]
