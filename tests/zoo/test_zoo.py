"""The models of the zoo match their sources: parameters, multiply-adds, and the layers that the sources list."""

import json
from math import prod
from pathlib import Path

import pytest

from pytest_dlbench.data import DATASETS
from pytest_dlbench.model import SGD, Adadelta, Adam, InverseTime, StepDecay, infer
from pytest_dlbench.planning.matrix import misfit
from pytest_dlbench.planning.plan import synthetic_for
from pytest_dlbench.zoo import MODELS, RECIPES

# From the sources' own tables: [name, output, parameters, multiply-adds] of each layer that is not an activation.
LAYERS = json.loads(Path(__file__).with_name("zoo_layers.json").read_text())
# The sources do not list the sizes of these layers.
UNLISTED = ("relu", "tanh", "sigmoid", "log_softmax", "local_response_norm")


def bottlenecks(count, before, inner, side):
    """Parameters and multiply-adds of a stage of ResNet-50."""
    first = (before + 9 * inner + 4 * inner + 4 * before) * inner
    others = (4 + 9 + 4) * inner**2
    weights = first + (count - 1) * others
    return weights + 12 * count * inner + 8 * inner, weights * side**2


def detector_of_voc():
    """ResNet-50 without its last stage, the regions of nine anchors, and dense layers for 128 regions."""
    first = 3 * 7**2 * 64
    parts = [
        (first + 2 * 64, first * 300**2),
        *(bottlenecks(*stage) for stage in ((3, 64, 64, 150), (4, 256, 128, 75), (6, 512, 256, 38))),
    ]
    regions, head = 9 * 1024 * 512 + 512 * 45, 1024 * 49 * 1024 + 1024**2 + 1024 * 21 * 5
    parts += [(regions + 512 + 45, regions * 38**2), (head + 2 * 1024 + 21 * 5, head * 128)]
    return tuple(map(sum, zip(*parts, strict=True)))


# Trainable parameters, and multiply-adds of one sample's forward pass. No source has figures for thesis-…-cifar10.
TOTALS = {
    "tartu-mnist-cnn": (1_199_882, 11_992_448),
    "tartu-cifar10-cnn": (1_250_858, 20_741_120),
    "tartu-cifar100-cnn": (6_777_060, 384_700_416),
    "tartu-svhn-cnn": (6_726_506, 193_263_616),
    "tartu-imdb-lstm": (213_301, 500 * 52_800 + 100),
    "tartu-ptb-lstm": (4_651_600, 79_200_000),
    "tartu-ptb-lstm-paper": (24_645_392, 700_416_000),
    "tartu-manythings-seq2seq": (
        1_050_624 + 256 * 20_000 + 513 * 10_000,
        524_288 * (20 + 16) + 256 * 10_000 * 16,
    ),
    "hkbu-fcn-s": (117_997_696, 117_964_800),
    "hkbu-fcn-r": (14_205_962, 14_198_784),
    "hkbu-alexnet-s": (62_378_344, 1_135_256_096),
    "hkbu-alexnet-r": (85_098, 10_732_160),
    "hkbu-resnet-50": (25_557_032, 4_089_184_256),
    "hkbu-resnet-56": (853_018, 125_485_696),
    "hkbu-lstm": (6_180_624, 115_474_432),
    "gatech-tensorflow-mnist": (3_274_634, 13_883_904),
    "gatech-lenet": (431_080, 2_293_000),
    "gatech-torch-mnist": (169_506, 2_587_600),
    "gatech-theano-mnist": (431_080, 2_293_000),
    "gatech-tensorflow-cifar10": (1_068_298, 18_470_784),
    "gatech-caffe-cifar10": (145_578, 12_354_176),
    "gatech-torch-cifar10": (924_490, 12_001_280),
    "gatech-theano-cifar10": (14_318, 129_432),
    # The study says "almost 25 million" and "5 billion"; these are for the published network without auxiliary head.
    "gatech-inception-v3": (23_834_568, 5_713_216_096),
    "rosetta-cifar10-cnn": (3_441_592, 62_264_320),
    "rosetta-imdb-gru": (3_818_302, 10_125_200),
    "rosetta-densenet121": (6_968_206, 2_833_152_000),
    "rosetta-resnet50-features": (23_508_032, 3_855_925_248),
    "thesis-alexnet": (60_965_224, 724_406_816),
    "thesis-googlenet": (6_998_552, 1_582_671_872),
    "thesis-resnet-50": (25_557_032, 3_857_973_248),
    "thesis-vgg16": (138_357_544, 15_470_264_320),
    # Two blocks of 12·128² weights and 13·128 biases, scales and shifts; BERT's pooling; two products of each block.
    "transformer-encoder": (
        (30_000 + 150) * 128 + 2 * 128 + 2 * (12 * 128**2 + 13 * 128) + 129 * 128 + 129 * 2,
        2 * (150 * 12 * 128**2 + 2 * 150**2 * 128) + 128 * 128 + 128 * 2,
    ),
    # The embedding counts once, its product as the output layer too.
    "gpt": (
        (10_000 + 32) * 128 + 4 * (12 * 128**2 + 13 * 128) + 2 * 128,
        4 * (32 * 12 * 128**2 + 2 * 32**2 * 128) + 32 * 128 * 10_000,
    ),
    # Three convolutions, that of the regions, the scores and moves of five anchors; three dense layers for 16 regions.
    "faster-rcnn-shapes": (
        28 * 16 + 145 * 32 + 289 * 48 + 433 * 48 + 49 * 25 + (48 * 25 + 1) * 64 + 65 * 20,
        27 * 16 * 48**2 + 144 * 32 * 24**2 + (288 * 48 + 432 * 48 + 48 * 25) * 12**2 + 16 * 64 * (48 * 25 + 20),
    ),
    "faster-rcnn-voc": detector_of_voc(),
}
OURS = {"thesis-alexnet-cifar10", "thesis-googlenet-cifar10", "thesis-resnet-50-cifar10", "thesis-vgg16-cifar10"}

every_model = pytest.mark.parametrize("name", sorted(MODELS))
every_listed = pytest.mark.parametrize("name", sorted(LAYERS))


def listed(name):
    # Sources that list neither flattening nor dropout.
    left_out = {"gatech-tensorflow-mnist": ("dropout",), "hkbu-fcn-r": ("flatten",)}.get(name, ())
    return [placed for placed in infer(MODELS[name]).layers if placed.layer.kind not in (*UNLISTED, *left_out)]


def test_every_model_of_a_source_has_its_totals_in_the_table():
    assert set(TOTALS) | OURS == set(MODELS)


@pytest.mark.parametrize("name", TOTALS)
def test_a_model_has_the_parameters_and_multiply_adds_of_its_source(name):
    network = infer(MODELS[name])
    assert (network.parameter_count, network.multiply_adds) == TOTALS[name]


@every_listed
def test_every_layer_gives_the_shape_of_the_source(name):
    assert [list(placed.inferred.output) for placed in listed(name)] == [row[1] for row in LAYERS[name]]


@every_listed
def test_every_layer_has_the_parameters_of_the_source(name):
    counts = [sum(prod(each.shape) for each in placed.inferred.parameters) for placed in listed(name)]
    assert counts == [row[2] for row in LAYERS[name]]


@every_listed
def test_every_layer_costs_the_multiply_adds_of_the_source(name):
    assert [placed.inferred.multiply_adds for placed in listed(name)] == [row[3] for row in LAYERS[name]]


ACTIVATIONS = {
    "tartu-mnist-cnn": "conv relu conv relu pool dropout flatten fc relu dropout fc",
    "hkbu-fcn-r": "flatten fc sigmoid fc sigmoid fc sigmoid fc",
    "hkbu-alexnet-r": "conv pool relu conv relu pool conv relu pool flatten fc",
    "gatech-lenet": "conv pool conv pool flatten fc relu fc",
    "gatech-torch-mnist": "conv tanh pool conv tanh pool flatten fc tanh fc log_softmax",
    "gatech-theano-mnist": "conv pool tanh conv pool tanh flatten fc tanh fc",
    "gatech-tensorflow-cifar10": "conv relu pool lrn conv relu lrn pool flatten fc relu fc relu fc",
    "gatech-caffe-cifar10": "conv pool relu conv relu pool conv relu pool flatten fc fc",
    "gatech-theano-cifar10": "conv pool conv pool flatten fc relu fc",
}


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_activations_are_where_the_source_has_them(name):
    assert [placed.layer.prefix for placed in infer(MODELS[name]).layers] == ACTIVATIONS[name].split()


def test_the_first_block_of_the_svhn_network_has_no_batch_norm():
    kinds = [placed.layer.prefix for placed in infer(MODELS["tartu-svhn-cnn"]).layers]
    assert kinds[:10] == ["conv", "relu", "pool", "dropout", "conv", "bn", "relu", "pool", "dropout", "conv"]
    assert kinds.count("bn") == 7


RECIPES_OF_SOURCES = [
    ("tartu-mnist-cnn", 128, 15, SGD(0.01, momentum=0.5)),
    ("tartu-cifar10-cnn", 128, 100, SGD(0.01, momentum=0.5)),
    ("tartu-imdb-lstm", 64, 50, Adam(1e-3)),
    ("tartu-ptb-lstm", 20, 50, Adadelta(1.0, rho=0.95, epsilon=1e-6)),
    ("tartu-manythings-seq2seq", 128, 100, Adam(1e-4)),
    ("gatech-caffe-cifar10", 100, 5_000, SGD(0.001, momentum=0.9, weight_decay=0.004)),
    ("gatech-tensorflow-cifar10", 128, 1_000_000, SGD(0.1)),
    ("gatech-torch-mnist", 10, 12, SGD(0.05)),
    ("gatech-lenet", 64, 10_000, SGD(0.01, momentum=0.9, weight_decay=5e-4)),
    ("hkbu-fcn-r", 1024, 40, SGD(0.05, momentum=0.9)),
    ("hkbu-resnet-56", 128, 40, SGD(0.01, momentum=0.9, weight_decay=1e-4)),
    ("rosetta-imdb-gru", 64, 3, Adam(1e-3)),
]


COUNT_STEPS = {"gatech-caffe-cifar10", "gatech-tensorflow-cifar10", "gatech-lenet"}


@pytest.mark.parametrize(("name", "batch_size", "length", "optimizer"), RECIPES_OF_SOURCES)
def test_a_models_recipe_is_that_of_its_source(name, batch_size, length, optimizer):
    recipe = MODELS[name].recipe
    expected = (None, length) if name in COUNT_STEPS else (length, None)
    assert (recipe.batch_size, recipe.epochs, recipe.steps, recipe.optimizer) == (batch_size, *expected, optimizer)


def test_only_deep_networks_without_normalisation_start_by_hes_rule():
    starts = {name: model.recipe.init for name, model in MODELS.items() if model.recipe.init != "glorot"}
    assert starts == {"thesis-vgg16": "he", "thesis-vgg16-cifar10": "he"}


def test_the_gradient_of_hkbus_language_model_is_clipped():
    assert MODELS["hkbu-lstm"].recipe.clip_norm == 5.0


def test_caffes_recipes_decay_their_learning_rates():
    assert RECIPES["gatech-caffe-mnist"].schedule == InverseTime(1e-4, 0.75)
    assert RECIPES["gatech-caffe-cifar10"].schedule == StepDecay(0.1, steps=(4_000,))


@pytest.mark.parametrize("name", RECIPES)
def test_every_recipe_of_gatech_is_that_of_its_own_network(name):
    own = "gatech-lenet" if name == "gatech-caffe-mnist" else name
    assert RECIPES[name] == MODELS[own].recipe


@every_model
def test_a_model_is_registered_under_its_own_name(name):
    assert MODELS[name].name == name


@pytest.mark.parametrize("name", [name for name, model in MODELS.items() if model.sources])
def test_a_model_of_a_study_is_marked_with_the_study_it_is_named_after(name):
    assert name.split("-")[0] in MODELS[name].marks


def test_only_transformers_and_detectors_are_from_no_study():
    assert {name for name, model in MODELS.items() if not model.sources} == {
        "transformer-encoder",
        "gpt",
        "faster-rcnn-shapes",
        "faster-rcnn-voc",
    }
    assert all(model.sources or {"transformer", "detection"} & {*model.marks} for model in MODELS.values())


@every_model
def test_a_model_of_more_than_a_billion_multiply_adds_is_marked_slow(name):
    is_large = infer(MODELS[name]).multiply_adds > 1e9
    assert not is_large or "slow" in MODELS[name].marks


@every_model
def test_a_model_fits_the_synthetic_data_of_its_own_shape(name):
    purpose = "training" if MODELS[name].head.is_trained else "inference"
    assert not misfit(MODELS[name], synthetic_for(MODELS[name]), purpose)


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("tartu-mnist-cnn", "digits28"),
        ("tartu-cifar10-cnn", "digits32"),
        ("gatech-lenet", "digits28"),
        ("hkbu-fcn-r", "digits28"),
        ("transformer-encoder", "pydoc-topics150"),
        ("gpt", "pydoc32"),
        ("faster-rcnn-shapes", "shapes"),
    ],
)
def test_a_model_fits_the_digits_that_replace_its_own_data(name, data):
    assert not misfit(MODELS[name], DATASETS[data])
