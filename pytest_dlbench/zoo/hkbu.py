"""Shi, Wang, Xu, Chu: "Benchmarking State-of-the-Art Deep Learning Software Tools" (v7, 2017), and its repository.

Networks whose names end in -s were trained on synthetic data of ImageNet's shape, those in -r on real data. Where the
frameworks' networks differ, the layers follow Torch; comments list the differences.
"""

from pytest_dlbench.model import (
    LSTM,
    SGD,
    AvgPool,
    Conv2D,
    Dense,
    Embedding,
    Flatten,
    MaxPool,
    Model,
    Recipe,
    ReLU,
    SequenceCrossEntropy,
    Sigmoid,
    SoftmaxCrossEntropy,
)
from pytest_dlbench.zoo.resnets import resnet50, resnet56

# The repository's five files have three hidden layers; the paper's text says four (122,194,048 parameters).
FCN_S = Model(
    name="hkbu-fcn-s",
    family="fcn",
    sources=("hkbu",),
    more_marks=("slow",),
    input_shape=(26_752,),
    layers=(Dense(2048), Sigmoid(), Dense(2048), Sigmoid(), Dense(2048), Sigmoid(), Dense(26_752)),
    head=SoftmaxCrossEntropy(classes=26_752),
    recipe=Recipe(batch_size=64, epochs=1, optimizer=SGD(0.01)),
)

# This order is intended: 2048, 4096, 1024. (In the repository CNTK has 4096, 2048, 1024: 13,714,442 parameters.)
FCN_R = Model(
    name="hkbu-fcn-r",
    family="fcn",
    sources=("hkbu",),
    input_shape=(1, 28, 28),
    layers=(Flatten(), Dense(2048), Sigmoid(), Dense(4096), Sigmoid(), Dense(1024), Sigmoid(), Dense(10)),
    head=SoftmaxCrossEntropy(classes=10),
    # Batch sizes in the paper: 342, 512, 1024, 2048 and 4096; table 7 uses 1024.
    recipe=Recipe(batch_size=1024, epochs=40, optimizer=SGD(0.05, momentum=0.9)),
)

# One column, no normalisation, no dropout. (In the repository MXNet's graph does not use conv4, conv5, fc6 and fc7.)
ALEXNET_S = Model(
    name="hkbu-alexnet-s",
    family="cnn",
    sources=("hkbu",),
    more_marks=("slow",),
    input_shape=(3, 224, 224),
    layers=(
        Conv2D(96, 11, stride=4, padding=2),
        ReLU(),
        MaxPool(3, stride=2),
        Conv2D(256, 5, padding=2),
        ReLU(),
        MaxPool(3, stride=2),
        Conv2D(384, 3, padding=1),
        ReLU(),
        Conv2D(384, 3, padding=1),
        ReLU(),
        Conv2D(256, 3, padding=1),
        ReLU(),
        MaxPool(3, stride=2),
        Flatten(),
        Dense(4096),
        ReLU(),
        Dense(4096),
        ReLU(),
        Dense(1000),
    ),
    head=SoftmaxCrossEntropy(classes=1000),
    recipe=Recipe(batch_size=16, epochs=1, optimizer=SGD(0.01)),
)

# cuda-convnet's "18 %" network: the first ReLU comes after the pooling. (Caffe pools with ceil: 89,578 parameters.)
ALEXNET_R = Model(
    name="hkbu-alexnet-r",
    family="cnn",
    sources=("hkbu",),
    input_shape=(3, 32, 32),
    layers=(
        Conv2D(32, 5, padding=2),
        MaxPool(3, stride=2),
        ReLU(),
        Conv2D(32, 5, padding=2),
        ReLU(),
        MaxPool(3, stride=2),
        Conv2D(64, 5, padding=2),
        ReLU(),
        AvgPool(3, stride=2),
        Flatten(),
        Dense(10),
    ),
    head=SoftmaxCrossEntropy(classes=10),
    # The files have rates of 0.001 and 0.01; the paper's text says 0.01.
    recipe=Recipe(batch_size=128, epochs=40, optimizer=SGD(0.01, momentum=0.9)),
)

# fb.resnet.torch strides in the 3×3 convolution (v1.5), Caffe's file in the first 1×1 (v1); MXNet's is pre-activation.
RESNET_50 = Model(
    name="hkbu-resnet-50",
    family="cnn",
    sources=("hkbu",),
    more_marks=("slow",),
    input_shape=(3, 224, 224),
    layers=resnet50(1000, "v1.5"),
    head=SoftmaxCrossEntropy(classes=1000),
    recipe=Recipe(batch_size=16, epochs=1, optimizer=SGD(0.01)),
)

RESNET_56 = Model(
    name="hkbu-resnet-56",
    family="cnn",
    sources=("hkbu",),
    input_shape=(3, 32, 32),
    layers=resnet56(),
    head=SoftmaxCrossEntropy(classes=10),
    recipe=Recipe(batch_size=128, epochs=40, optimizer=SGD(0.01, momentum=0.9, weight_decay=1e-4)),
)

LSTM_32 = Model(
    name="hkbu-lstm",
    family="rnn",
    sources=("hkbu",),
    input_shape=(32,),
    vocabulary=10_000,
    layers=(
        Embedding(10_000, 256, limit=0.1),
        LSTM(256, sequence=True),
        LSTM(256, sequence=True),
        Dense(10_000),
    ),
    head=SequenceCrossEntropy(classes=10_000),
    # The documentation says a rate of 1.0, the settings say 0.1.
    recipe=Recipe(batch_size=128, epochs=20, optimizer=SGD(0.1), clip_norm=5.0),
)

MODELS = (FCN_S, FCN_R, ALEXNET_S, ALEXNET_R, RESNET_50, RESNET_56, LSTM_32)
