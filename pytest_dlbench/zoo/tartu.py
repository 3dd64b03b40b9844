"""Elshawi, Wahab, Barnawi, Sakr: "DLBench", Cluster Computing 24 (2021), and its repository.

Layers are the canonical form of the six implementations: Keras = TensorFlow = PyTorch. (In the repository MXNet and
Theano omit the padding of cifar10-cnn, and Chainer pads only its first convolution.)
"""

from pytest_dlbench.model import (
    LSTM,
    SGD,
    Adadelta,
    Adam,
    BatchNorm,
    Branch,
    Conditioned,
    Conv2D,
    Cut,
    Dense,
    Dropout,
    Embedding,
    Flatten,
    MaxPool,
    Model,
    Recipe,
    ReLU,
    SequenceCrossEntropy,
    SigmoidCrossEntropy,
    SoftmaxCrossEntropy,
)

# Section 4: batch 128, learning rate 0.01, momentum 0.5. The sources' "weight decay" of 1e-6 means something different
# in each of the six frameworks (a learning-rate decay in Keras), so the canonical recipe has none.
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


def _pair(filters: int, dropout: float) -> Branch:
    """Two convolutions, of which the first keeps the image size, and a pooling."""
    first, second = Conv2D(filters, 3, padding="same"), Conv2D(filters, 3)
    return (first, ReLU(), second, ReLU(), MaxPool(2), Dropout(dropout))


CIFAR100_CNN = Model(
    name="tartu-cifar100-cnn",
    family="cnn",
    sources=("tartu",),
    input_shape=(3, 32, 32),
    layers=(
        *_pair(128, 0.1),
        *_pair(256, 0.25),
        *_pair(512, 0.5),
        Flatten(),
        Dense(1024),
        ReLU(),
        Dropout(0.5),
        Dense(100),
    ),
    head=SoftmaxCrossEntropy(classes=100),
    recipe=Recipe(batch_size=128, epochs=200, optimizer=_OPTIMIZER),
)


def _svhn_block(filters: int, pool_stride: int, *, is_normed: bool = True) -> Branch:
    norm = (BatchNorm(epsilon=1e-3),) if is_normed else ()
    pool = MaxPool(2, stride=pool_stride, padding="same")
    return (Conv2D(filters, 5, padding=2), *norm, ReLU(), pool, Dropout(0.2))


# Keras' form of six different networks: strides alternate, no batch norm in the first block.
SVHN_CNN = Model(
    name="tartu-svhn-cnn",
    family="cnn",
    sources=("tartu",),
    input_shape=(3, 32, 32),
    layers=(
        *_svhn_block(48, 2, is_normed=False),
        *_svhn_block(64, 1),
        *_svhn_block(128, 2),
        *_svhn_block(160, 1),
        *_svhn_block(192, 2),
        *_svhn_block(192, 1),
        *_svhn_block(192, 2),
        *_svhn_block(192, 1),
        Flatten(),
        Dense(3072),
        ReLU(),
        Dropout(0.5),
        Dense(10),
    ),
    head=SoftmaxCrossEntropy(classes=10),
    recipe=Recipe(batch_size=128, epochs=100, optimizer=_OPTIMIZER),
)

IMDB_LSTM = Model(
    name="tartu-imdb-lstm",
    family="rnn",
    sources=("tartu",),
    input_shape=(500,),
    vocabulary=5000,
    layers=(Embedding(5000, 32, padding=0, limit=1.0), LSTM(100), Dense(1)),
    head=SigmoidCrossEntropy(flags=1),
    recipe=Recipe(batch_size=64, epochs=50, optimizer=Adam(1e-3)),
)


def _ptb(name: str, size: int, units: int) -> Model:
    return Model(
        name=name,
        family="rnn",
        sources=("tartu",),
        input_shape=(30,),
        vocabulary=10_000,
        layers=(
            Embedding(10_000, size, limit=1.0),
            LSTM(units, sequence=True),
            LSTM(units, sequence=True),
            Dropout(0.5),
            Dense(10_000),
        ),
        head=SequenceCrossEntropy(classes=10_000),
        recipe=Recipe(batch_size=20, epochs=50, optimizer=Adadelta(1.0, rho=0.95, epsilon=1e-6)),
    )


# All six programs have 200 units; the paper says 1024.
PTB_LSTM = _ptb("tartu-ptb-lstm", 200, 200)
PTB_LSTM_PAPER = _ptb("tartu-ptb-lstm-paper", 128, 1024)


def seq2seq(name: str, *, steps: tuple[int, int], vocabularies: tuple[int, int]) -> Model:
    """The encoder and decoder for pairs of sentences: (source, target) steps and vocabularies.

    A pair is one row: the source's tokens, then the decoder's input tokens (teacher forcing); 0 is padding.
    """
    source, target = steps
    encoder = (Cut(0, source), Embedding(vocabularies[0], 256, padding=0), LSTM(256))
    decoder = (Cut(source, source + target), Embedding(vocabularies[1], 256))
    return Model(
        name=name,
        family="rnn",
        sources=("tartu",),
        input_shape=(source + target,),
        vocabulary=max(vocabularies),
        layers=(Conditioned(LSTM(256, sequence=True), start=encoder, sequence=decoder), Dense(vocabularies[1])),
        head=SequenceCrossEntropy(classes=vocabularies[1], ignored=0),
        recipe=Recipe(batch_size=128, epochs=100, optimizer=Adam(1e-4)),
    )


# The sizes of the data set manythings; the sources' own sizes depend on which lines they read.
MANYTHINGS = seq2seq("tartu-manythings-seq2seq", steps=(20, 16), vocabularies=(20_000, 10_000))

MODELS = (
    MNIST_CNN,
    CIFAR10_CNN,
    CIFAR100_CNN,
    SVHN_CNN,
    IMDB_LSTM,
    PTB_LSTM,
    PTB_LSTM_PAPER,
    MANYTHINGS,
)
