"""Elshawi, Wahab, Barnawi, Sakr: "DLBench", Cluster Computing 24 (2021), and its repository.

Layers are the canonical form of the six implementations: Keras = TensorFlow = PyTorch. (In the repository MXNet and
Theano leave out the padding of cifar10-cnn, and Chainer pads its first convolution only.)
"""

from pytest_dlbench.model import (
    SGD,
    Conv2D,
    Dense,
    Dropout,
    Flatten,
    MaxPool,
    Model,
    Recipe,
    ReLU,
    SoftmaxCrossEntropy,
)

# Section 4: batch 128, learning rate 0.01, momentum 0.5. The sources' "weight decay" of 1e-6 means six things in six
# frameworks (a learning-rate decay in Keras), so that the canonical recipe has none.
_OPTIMIZER = SGD(0.01, momentum=0.5)

MNIST_CNN = Model(
    name="tartu-mnist-cnn",
    family="cnn",
    sources=("tartu",),
    input_shape=(1, 28, 28),
    layers=(
        Conv2D(32, 3),
        ReLU(),
        Conv2D(64, 3),
        ReLU(),
        MaxPool(2),
        Dropout(0.25),
        Flatten(),
        Dense(128),
        ReLU(),
        Dropout(0.5),
        Dense(10),
    ),
    head=SoftmaxCrossEntropy(classes=10),
    recipe=Recipe(batch_size=128, epochs=15, optimizer=_OPTIMIZER),
)

CIFAR10_CNN = Model(
    name="tartu-cifar10-cnn",
    family="cnn",
    sources=("tartu",),
    input_shape=(3, 32, 32),
    layers=(
        Conv2D(32, 3, padding="same"),
        ReLU(),
        Conv2D(32, 3),
        ReLU(),
        MaxPool(2),
        Dropout(0.25),
        Conv2D(64, 3, padding="same"),
        ReLU(),
        Conv2D(64, 3),
        ReLU(),
        MaxPool(2),
        Dropout(0.25),
        Flatten(),
        Dense(512),
        ReLU(),
        Dropout(0.5),
        Dense(10),
    ),
    head=SoftmaxCrossEntropy(classes=10),
    recipe=Recipe(batch_size=128, epochs=100, optimizer=_OPTIMIZER),
)

MODELS = (MNIST_CNN, CIFAR10_CNN)
