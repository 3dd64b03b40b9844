"""What builders say they can build, read from their source."""

from pathlib import Path

import pytest

from pytest_dlbench.environments import FRAMEWORKS, Framework
from pytest_dlbench.environments.supports import supports
from pytest_dlbench.model import (
    GELU,
    SGD,
    Adadelta,
    Adam,
    AdamW,
    Conv2D,
    DetectionLoss,
    RMSprop,
    SequenceCrossEntropy,
    SigmoidCrossEntropy,
    SoftmaxCrossEntropy,
    layers,
)
from pytest_dlbench.model.recipe import EXECUTION, MIXED

DOUBLES = Path(__file__).parents[1] / "doubles" / "builders"
TRAINED = [name for name, framework in FRAMEWORKS.items() if not framework.unsupported]
# A Conditioned is made of recurrent layers; the kind of a Conv2D depends on its groups, that of a GELU on its form.
LAYERS = [getattr(layers, name) for name in layers.__all__]
KINDS = {layer.kind for layer in LAYERS if isinstance(getattr(layer, "kind", None), str)} - {"conditioned"}
KINDS |= {Conv2D(1, 1).kind, Conv2D(2, 1, groups=2).kind, GELU().kind, GELU(tanh=True).kind}
LOSSES = {head.loss for head in (DetectionLoss, SoftmaxCrossEntropy, SequenceCrossEntropy, SigmoidCrossEntropy)}
OPTIMIZERS = {optimizer.kind for optimizer in (SGD, Adam, AdamW, Adadelta, RMSprop)}
FEATURES = {"accumulation", "clip_norm", "lengths", "pipeline", "schedule", "start"}
VOCABULARY = KINDS | LOSSES | OPTIMIZERS | FEATURES | MIXED | set(EXECUTION)
# What a framework of that folder has not, and why (environments/execution.py says it for settings of execution). All
# others have the whole vocabulary.
SEQUENCES = {"cut", "embedding", "gru", "lengths", "lstm", "sequence_cross_entropy", "start"}
# Frameworks without current releases have no Transformer.
TRANSFORMER = {"adamw", "attention", "first_step", "gelu", "gelu_tanh", "layer_norm", "positions", "tied_dense"}
# Detectors are written for PyTorch, JAX, TensorFlow, Keras and Paddle.
DETECTOR = {"detection", "detections", "region_proposals", "roi_align"}
# Gradients are accumulated in the folders of these only.
ACCUMULATES = {"jax", "paddle", "pytorch", "tensorflow"}
OFF = set(EXECUTION)
LACKS = {
    # A recurrent layer of rnn_cell is a step net inside an operator.
    "caffe2": OFF | MIXED | SEQUENCES | TRANSFORMER | DETECTOR,
    "chainer": OFF | {"bfloat16"} | TRANSFORMER,  # NumPy computes, which has none
    "cntk": OFF | MIXED | TRANSFORMER | DETECTOR,
    "jax": {"float16"},  # neither JAX nor optax scales a loss
    "keras2": OFF | MIXED | TRANSFORMER | DETECTOR,
    "lasagne": OFF | MIXED | TRANSFORMER | DETECTOR,
    "mlx": OFF - {"channels_last"} | DETECTOR,
    "mxnet": {"float16"} | OFF - {"autotune", "deterministic"},  # no float16 on a CPU
    "paddle": OFF - {"autotune", "deterministic"},
    "pytorch": {"cuda_graphs"},
    "tensorflow": {"cuda_graphs"},
    "tensorflow1": OFF | MIXED | TRANSFORMER | DETECTOR,
    "theano": OFF | MIXED | TRANSFORMER | DETECTOR,
    "tinygrad": OFF - {"cuda_graphs", "tf32"} | DETECTOR,
}
# The libraries that the builders of a folder can choose.
LIBRARIES = {
    "chainer": {"library=ideep", "library=openblas"},
    "keras": {"library=eigen", "library=mkl", "library=onednn"},
    "mxnet": {"library=onednn", "library=openblas"},
    "pytorch": {"library=mkl", "library=onednn"},
    "tensorflow": {"library=eigen", "library=onednn"},
    "theano": {"library=mkl", "library=openblas"},
}
# What a variant has in addition to the builder in whose folder it is.
MORE = {"pytorch-compile": {"cuda_graphs"}, "tensorflow-xla": {"cuda_graphs"}}


def double(builder, folder=DOUBLES):
    return Framework(name="double", builder=builder, folders=(folder,))


@pytest.mark.parametrize("name", TRAINED)
def test_a_framework_has_the_whole_vocabulary_but_for_what_it_is_known_to_lack(name):
    folder = FRAMEWORKS[name].builder.split(".")[2]
    lacks = LACKS.get(folder, set()) | (set() if folder in ACCUMULATES else {"accumulation"})
    more = MORE.get(name, set()) | LIBRARIES.get(folder, set())
    assert supports(FRAMEWORKS[name]) == VOCABULARY - lacks | more


def test_a_variant_may_lie_in_another_folder_than_its_builder():
    assert supports(double("slowed_pytorch")) == supports(FRAMEWORKS["pytorch"])


def test_a_variant_of_a_variant_has_it_too():
    assert supports(double("slowed")) == {"dense", "flatten", "pipeline", "sgd", "softmax_cross_entropy"}


@pytest.fixture
def own(tmp_path):
    """A builder of a user's own that is a folder: a function that writes its modules."""

    def write(**modules):
        folder = tmp_path / "own"
        folder.mkdir()
        for name, text in modules.items():
            (folder / f"{name}.py").write_text(text)
        return double("own", tmp_path)

    return write


@pytest.mark.parametrize("imported", ["from own.layers import LAYERS as KINDS", "from .layers import LAYERS as KINDS"])
def test_the_keys_of_tables_are_what_a_folder_has(own, imported):
    layers = "import missing\nLAYERS = {'dense': missing.Dense, 'relu': lambda layer: missing.ReLU()}"
    builder = f"{imported}\nMIXED = {{}}\nLOSSES = ('softmax_cross_entropy',)\nSUPPORTS = {{*KINDS, *LOSSES, *MIXED}}"
    assert supports(own(__init__=builder, layers=layers)) == {"dense", "relu", "softmax_cross_entropy"}


def test_a_table_may_be_made_of_others(own):
    builder = "FEW = {'dense': 1}\nLAYERS = {**FEW, 'relu': 2}\nKINDS = [*LAYERS, 'tanh']\nSUPPORTS = {*KINDS}"
    assert supports(own(__init__=builder)) == {"dense", "relu", "tanh"}


@pytest.mark.parametrize("computed", ["set(KINDS)", "{*names()}", "{*KINDS, *ELSEWHERE}", "KINDS | {'relu'}"])
def test_of_what_is_computed_nothing_is_known(own, computed):
    assert supports(own(__init__=f"KINDS = {{'dense'}}\nSUPPORTS = {computed}")) is None


@pytest.mark.parametrize("builder", ["nowhere_to_be_found", "lacks_its_framework", ""])
def test_of_others_nothing_is_known(builder):
    assert supports(double(builder)) is None
