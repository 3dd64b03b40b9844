"""Which of our models and frameworks a published name stands for."""

from pytest_dlbench.reporting.published.studies import Figure

# By source, published model and data set (None if the model is enough).
MODELS: dict[tuple[str, str, str | None], str] = {
    ("hkbu", "FCN-S", None): "hkbu-fcn-s",
    ("hkbu", "FCN-R", None): "hkbu-fcn-r",
    ("hkbu", "AlexNet-S", None): "hkbu-alexnet-s",
    ("hkbu", "AlexNet-R", None): "hkbu-alexnet-r",
    ("hkbu", "ResNet-50", None): "hkbu-resnet-50",
    ("hkbu", "ResNet-56", None): "hkbu-resnet-56",
    ("hkbu", "LSTM", None): "hkbu-lstm",
    ("tartu", "cnn", "MNIST"): "tartu-mnist-cnn",
    ("tartu", "cnn", "CIFAR-10"): "tartu-cifar10-cnn",
    ("tartu", "cnn", "CIFAR-100"): "tartu-cifar100-cnn",
    ("tartu", "cnn", "SVHN"): "tartu-svhn-cnn",
    ("tartu", "lstm", "IMDB"): "tartu-imdb-lstm",
    ("tartu", "lstm", "PTB"): "tartu-ptb-lstm",
    ("tartu", "seq2seq-lstm", "ManyThings spa-eng"): "tartu-manythings-seq2seq",
    ("rosetta", "cifar10-cnn", None): "rosetta-cifar10-cnn",
    ("rosetta", "imdb-gru", None): "rosetta-imdb-gru",
    ("rosetta", "densenet121-chestxray", None): "rosetta-densenet121",
    ("thesis", "LeNet", None): "gatech-lenet",
    ("thesis", "AlexNet", "CIFAR10"): "thesis-alexnet-cifar10",
    ("thesis", "GoogLeNet", "CIFAR10"): "thesis-googlenet-cifar10",
    ("thesis", "ResNet50", "CIFAR10"): "thesis-resnet-50-cifar10",
    ("thesis", "VGG16", "CIFAR10"): "thesis-vgg16-cifar10",
    ("thesis", "AlexNet", "ImageNet"): "thesis-alexnet",
    ("thesis", "GoogLeNet", "ImageNet"): "thesis-googlenet",
    ("thesis", "ResNet50", "ImageNet"): "thesis-resnet-50",
    ("thesis", "VGG16", "ImageNet"): "thesis-vgg16",
}

# Our frameworks, in order of preference. Lua Torch, Caffe, Knet and R have no equivalent successor.
FRAMEWORKS: dict[str, tuple[str, ...]] = {
    "TensorFlow": ("tensorflow", "tensorflow1"),
    "Tensorflow": ("tensorflow", "tensorflow1"),
    "Keras": ("keras-tensorflow", "keras2-tensorflow"),
    "Keras(TF)": ("keras-tensorflow", "keras2-tensorflow"),
    "Keras(Theano)": ("keras2-theano",),
    "Keras(CNTK)": ("keras2-cntk",),
    "PyTorch": ("pytorch", "pytorch-1.0"),
    "Pytorch": ("pytorch", "pytorch-1.0"),
    "MXNet": ("mxnet", "mxnet-imperative"),
    "MXNet(Module)": ("mxnet",),
    "MXNet(Module API)": ("mxnet",),
    "Gluon": ("mxnet-imperative",),
    "MXNet(Gluon)": ("mxnet-imperative",),
    "MXNet(Gluon API)": ("mxnet-imperative",),
    "Chainer": ("chainer",),
    "Theano": ("theano", "theano-pymc"),
    "Lasagne(Theano)": ("lasagne",),
    "CNTK": ("cntk",),
    "Caffe2": ("caffe2",),
}


def model(figure: Figure) -> str | None:
    """Our model of a published cell, if there is one."""
    by_dataset = MODELS.get((figure.source, figure.model, figure.dataset))
    return by_dataset or MODELS.get((figure.source, figure.model, None))


# The names of ours that have no other published one.
_TITLES = {
    **{ours[0]: published for published, ours in reversed(FRAMEWORKS.items())},
    "jax": "JAX",
    "paddle": "PaddlePaddle",
}


def title(framework: str) -> str:
    """One of our frameworks as people write it, unless that would not distinguish it from another of ours."""
    return _TITLES.get(framework, framework)


def framework(published: str, known: set[str]) -> str | None:
    """The first of our frameworks for a published name that is among the known ones."""
    return next((name for name in FRAMEWORKS.get(published, ()) if name in known), None)
