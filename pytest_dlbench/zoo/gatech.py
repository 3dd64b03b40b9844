"""Wu, Liu, Pu et al.: "A Comparative Measurement Study of Deep Learning as a Service Framework".

Its eight networks are the defaults of four frameworks for MNIST and CIFAR-10 (tables 4 and 5), with their default
recipes (tables 2 and 3; table 2 is a picture that is lost and was reconstructed from the text and tables 15 to 21).
TensorFlow and Caffe count steps, which are not a whole number of epochs; Torch and Theano count epochs. The study's
second finding is that a framework's recipe suits its own network best, so each network can be trained with any recipe.

Data augmentation (crops, flips, mean images) is omitted, and so are TensorFlow's weight averaging and its weight decay
of only two layers for CIFAR-10. The study has no settings of TensorFlow's two local response normalisations; these are
from the program that came with TensorFlow.
"""

from pytest_dlbench.model import (
    SGD,
    Adam,
    AvgPool,
    Branch,
    Conv2D,
    Dense,
    Dropout,
    Flatten,
    InverseTime,
    LocalResponseNorm,
    LogSoftmax,
    MaxPool,
    Model,
    Recipe,
    ReLU,
    Shape,
    SoftmaxCrossEntropy,
    StepDecay,
    Tanh,
)
from pytest_dlbench.zoo.inceptions import inception_v3

_TENSORFLOW_MNIST = Recipe(batch_size=50, steps=20_000, optimizer=Adam(1e-4))
_CAFFE_MNIST = Recipe(
    batch_size=64,
    steps=10_000,
    optimizer=SGD(0.01, momentum=0.9, weight_decay=5e-4),
    schedule=InverseTime(1e-4, 0.75),
)
# 0.05 in table 21; the text of section 4.4.3 says 0.1.
_TORCH_MNIST = Recipe(batch_size=10, epochs=12, optimizer=SGD(0.05))
_THEANO_MNIST = Recipe(batch_size=500, epochs=200, optimizer=SGD(0.1))
_TENSORFLOW_CIFAR10 = Recipe(
    batch_size=128,
    steps=1_000_000,
    optimizer=SGD(0.1),
    schedule=StepDecay(0.1, tuple(350.0 * number for number in range(1, 8))),
)
_CAFFE_CIFAR10 = Recipe(
    batch_size=100,
    steps=5_000,
    optimizer=SGD(0.001, momentum=0.9, weight_decay=0.004),
    schedule=StepDecay(0.1, steps=(4_000,)),
)
# The batch size is blank in table 3; 2,250,000 iterations in 45 epochs of 50,000 images imply 1.
_TORCH_CIFAR10 = Recipe(batch_size=1, epochs=45, optimizer=SGD(0.001))
_THEANO_CIFAR10 = Recipe(batch_size=50, epochs=50, optimizer=SGD(0.01))

RECIPES = {
    "gatech-tensorflow-mnist": _TENSORFLOW_MNIST,
    "gatech-caffe-mnist": _CAFFE_MNIST,
    "gatech-torch-mnist": _TORCH_MNIST,
    "gatech-theano-mnist": _THEANO_MNIST,
    "gatech-tensorflow-cifar10": _TENSORFLOW_CIFAR10,
    "gatech-caffe-cifar10": _CAFFE_CIFAR10,
    "gatech-torch-cifar10": _TORCH_CIFAR10,
    "gatech-theano-cifar10": _THEANO_CIFAR10,
}

# Our frameworks that the study has, in any version. PyTorch is not Torch, nor is Caffe2 Caffe.
_IN_THE_STUDY = {
    "tensorflow": "tensorflow",
    "tensorflow-xla": "tensorflow",
    "tensorflow1": "tensorflow",
    "theano": "theano",
    "theano-pymc": "theano",
}
_LARGEST_SIDE = 32


def default_recipe(framework: str, image: Shape) -> str:
    """The name of a framework's own default recipe for images like MNIST's or CIFAR-10's; empty if it has none.

    ``framework`` has no version and no environment. Images like MNIST's have one channel, images like CIFAR-10's have
    three; both have at most 32 rows.
    """
    studied = _IN_THE_STUDY.get(framework)
    data = {1: "mnist", 3: "cifar10"}.get(image[0]) if len(image) == 3 and image[1] <= _LARGEST_SIDE else None
    return f"gatech-{studied}-{data}" if studied and data else ""


def _model(name: str, shape: Shape, recipe: Recipe, layers: Branch, *more_sources: str) -> Model:
    return Model(
        name=name,
        family="cnn",
        sources=("gatech", *more_sources),
        input_shape=shape,
        layers=layers,
        head=SoftmaxCrossEntropy(classes=10),
        recipe=recipe,
    )


TENSORFLOW_MNIST = _model(
    "gatech-tensorflow-mnist",
    (1, 28, 28),
    _TENSORFLOW_MNIST,
    (
        Conv2D(32, 5, padding="same"),
        ReLU(),
        MaxPool(2),
        Conv2D(64, 5, padding="same"),
        ReLU(),
        MaxPool(2),
        Flatten(),
        Dense(1024),
        ReLU(),
        Dropout(0.5),
        Dense(10),
    ),
)
# Caffe's network for MNIST, which the thesis of 2018 trains, too: no activation after the convolutions.
LENET = _model(
    "gatech-lenet",
    (1, 28, 28),
    _CAFFE_MNIST,
    (Conv2D(20, 5), MaxPool(2), Conv2D(50, 5), MaxPool(2), Flatten(), Dense(500), ReLU(), Dense(10)),
    "thesis",
)
# Table 4 has 3×3 pooling twice; only these sizes give its 3×3×64 values before the dense layer.
TORCH_MNIST = _model(
    "gatech-torch-mnist",
    (1, 32, 32),
    _TORCH_MNIST,
    (
        Conv2D(32, 5),
        Tanh(),
        MaxPool(3, stride=3, padding=1),
        Conv2D(64, 5),
        Tanh(),
        MaxPool(2),
        Flatten(),
        Dense(200),
        Tanh(),
        Dense(10),
        LogSoftmax(),
    ),
)
THEANO_MNIST = _model(
    "gatech-theano-mnist",
    (1, 28, 28),
    _THEANO_MNIST,
    (
        Conv2D(20, 5),
        MaxPool(2),
        Tanh(),
        Conv2D(50, 5),
        MaxPool(2),
        Tanh(),
        Flatten(),
        Dense(500),
        Tanh(),
        Dense(10),
    ),
)
# Four neighbours on either side, alpha 0.001/9 each: TensorFlow does not divide alpha by the size.
_TENSORFLOW_NORM = LocalResponseNorm(9, alpha=0.001, beta=0.75, k=1.0)
TENSORFLOW_CIFAR10 = _model(
    "gatech-tensorflow-cifar10",
    (3, 24, 24),
    _TENSORFLOW_CIFAR10,
    (
        Conv2D(64, 5, padding="same"),
        ReLU(),
        MaxPool(3, stride=2, padding="same"),
        _TENSORFLOW_NORM,
        Conv2D(64, 5, padding="same"),
        ReLU(),
        _TENSORFLOW_NORM,
        MaxPool(3, stride=2, padding="same"),
        Flatten(),
        Dense(384),
        ReLU(),
        Dense(192),
        ReLU(),
        Dense(10),
    ),
)
CAFFE_CIFAR10 = _model(
    "gatech-caffe-cifar10",
    (3, 32, 32),
    _CAFFE_CIFAR10,
    (
        Conv2D(32, 5, padding=2),
        MaxPool(3, stride=2, ceil=True),
        ReLU(),
        Conv2D(32, 5, padding=2),
        ReLU(),
        AvgPool(3, stride=2, ceil=True),
        Conv2D(64, 5, padding=2),
        ReLU(),
        AvgPool(3, stride=2, ceil=True),
        Flatten(),
        Dense(64),
        Dense(10),
    ),
)
# The second convolution is fully connected, as on a GPU; on a CPU, Torch's program used a random sparse table.
TORCH_CIFAR10 = _model(
    "gatech-torch-cifar10",
    (3, 32, 32),
    _TORCH_CIFAR10,
    (
        Conv2D(16, 5),
        Tanh(),
        MaxPool(2),
        Conv2D(256, 5),
        Tanh(),
        MaxPool(2),
        Flatten(),
        Dense(128),
        Tanh(),
        Dense(10),
        LogSoftmax(),
    ),
)
THEANO_CIFAR10 = _model(
    "gatech-theano-cifar10",
    (3, 32, 32),
    _THEANO_CIFAR10,
    (Conv2D(4, 3), MaxPool(3), Conv2D(8, 3), MaxPool(2), Flatten(), Dense(100), ReLU(), Dense(10)),
)
# Trained on 1, 2 and 4 GPUs (table 8), with 32 images per GPU.
INCEPTION_V3 = Model(
    name="gatech-inception-v3",
    family="cnn",
    sources=("gatech",),
    more_marks=("slow",),
    input_shape=(3, 299, 299),
    layers=inception_v3(1000),
    head=SoftmaxCrossEntropy(classes=1000),
    recipe=Recipe(batch_size=32, steps=100_000, optimizer=SGD(0.1)),
)

MODELS = (
    TENSORFLOW_MNIST,
    LENET,
    TORCH_MNIST,
    THEANO_MNIST,
    TENSORFLOW_CIFAR10,
    CAFFE_CIFAR10,
    TORCH_CIFAR10,
    THEANO_CIFAR10,
    INCEPTION_V3,
)
