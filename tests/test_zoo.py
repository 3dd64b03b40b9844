"""The models of the field are those of their sources: every layer's shape, parameters, multiply-adds and activation."""

from dataclasses import dataclass
from math import prod

import pytest

from pytest_dlbench.data import DATASETS
from pytest_dlbench.matrix import misfit
from pytest_dlbench.model import SGD, infer
from pytest_dlbench.zoo import MODELS

ACTIVATIONS = ("relu", "tanh", "sigmoid")


@dataclass(frozen=True)
class Row:
    """One line of a source's table; activations have no line of their own."""

    name: str
    output: tuple[int, ...]
    parameters: int = 0
    multiply_adds: int = 0
    activation: str = ""


TABLES = {
    "tartu-mnist-cnn": (
        Row("conv1", (32, 26, 26), 320, 194_688, "relu"),
        Row("conv2", (64, 24, 24), 18_496, 10_616_832, "relu"),
        Row("pool1", (64, 12, 12)),
        Row("dropout1", (64, 12, 12)),
        Row("flatten1", (9216,)),
        Row("fc1", (128,), 1_179_776, 1_179_648, "relu"),
        Row("dropout2", (128,)),
        Row("fc2", (10,), 1_290, 1_280),
    ),
    "tartu-cifar10-cnn": (
        Row("conv1", (32, 32, 32), 896, 884_736, "relu"),
        Row("conv2", (32, 30, 30), 9_248, 8_294_400, "relu"),
        Row("pool1", (32, 15, 15)),
        Row("dropout1", (32, 15, 15)),
        Row("conv3", (64, 15, 15), 18_496, 4_147_200, "relu"),
        Row("conv4", (64, 13, 13), 36_928, 6_230_016, "relu"),
        Row("pool2", (64, 6, 6)),
        Row("dropout2", (64, 6, 6)),
        Row("flatten1", (2304,)),
        Row("fc1", (512,), 1_180_160, 1_179_648, "relu"),
        Row("dropout3", (512,)),
        Row("fc2", (10,), 5_130, 5_120),
    ),
    "gatech-lenet": (
        Row("conv1", (20, 24, 24), 520, 288_000),
        Row("pool1", (20, 12, 12)),
        Row("conv2", (50, 8, 8), 25_050, 1_600_000),
        Row("pool2", (50, 4, 4)),
        Row("flatten1", (800,)),
        Row("fc1", (500,), 400_500, 400_000, "relu"),
        Row("fc2", (10,), 5_010, 5_000),
    ),
    "hkbu-fcn-r": (
        Row("flatten1", (784,)),
        Row("fc1", (2048,), 1_607_680, 1_605_632, "sigmoid"),
        Row("fc2", (4096,), 8_392_704, 8_388_608, "sigmoid"),
        Row("fc3", (1024,), 4_195_328, 4_194_304, "sigmoid"),
        Row("fc4", (10,), 10_250, 10_240),
    ),
}

every_model = pytest.mark.parametrize("name", sorted(MODELS))


def without_activations(network):
    return [placed for placed in network.layers if placed.layer.kind not in ACTIVATIONS]


def test_every_model_has_a_table_here():
    assert set(TABLES) == set(MODELS)


@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        ("tartu-mnist-cnn", 1_199_882),
        ("tartu-cifar10-cnn", 1_250_858),
        ("gatech-lenet", 431_080),
        ("hkbu-fcn-r", 14_205_962),
    ],
)
def test_a_model_has_the_parameters_of_its_source(name, parameters):
    assert infer(MODELS[name]).parameter_count == parameters


@pytest.mark.parametrize(
    ("name", "multiply_adds"),
    [
        ("tartu-mnist-cnn", 11_992_448),
        ("tartu-cifar10-cnn", 20_741_120),
        ("gatech-lenet", 2_293_000),
        ("hkbu-fcn-r", 14_198_784),
    ],
)
def test_a_model_costs_the_multiply_adds_of_its_source(name, multiply_adds):
    assert infer(MODELS[name]).multiply_adds == multiply_adds


@every_model
def test_every_layer_gives_the_shape_of_the_source(name):
    shapes = [(placed.name, placed.inferred.output) for placed in without_activations(infer(MODELS[name]))]
    assert shapes == [(row.name, row.output) for row in TABLES[name]]


@every_model
def test_every_layer_has_the_parameters_of_the_source(name):
    network = infer(MODELS[name])
    counts = dict.fromkeys((placed.name for placed in without_activations(network)), 0)
    for array, parameter in network.parameters.items():
        counts[array.split(".")[0]] += prod(parameter.shape)
    assert counts == {row.name: row.parameters for row in TABLES[name]}


@every_model
def test_every_layer_costs_the_multiply_adds_of_the_source(name):
    costs = [(placed.name, placed.inferred.multiply_adds) for placed in without_activations(infer(MODELS[name]))]
    assert costs == [(row.name, row.multiply_adds) for row in TABLES[name]]


@every_model
def test_activations_stand_where_the_source_has_them(name):
    kinds = [placed.layer.kind for placed in infer(MODELS[name]).layers]
    expected = []
    for row in TABLES[name]:
        expected += ["layer", row.activation] if row.activation else ["layer"]
    assert [kind if kind in ACTIVATIONS else "layer" for kind in kinds] == expected


@pytest.mark.parametrize(
    ("name", "batch_size", "epochs", "optimizer"),
    [
        ("tartu-mnist-cnn", 128, 15, SGD(0.01, momentum=0.5)),
        ("tartu-cifar10-cnn", 128, 100, SGD(0.01, momentum=0.5)),
        ("gatech-lenet", 64, 11, SGD(0.01, momentum=0.9, weight_decay=5e-4)),
        ("hkbu-fcn-r", 1024, 40, SGD(0.05, momentum=0.9)),
    ],
)
def test_a_model_is_trained_as_its_source_did(name, batch_size, epochs, optimizer):
    recipe = MODELS[name].recipe
    assert (recipe.batch_size, recipe.epochs, recipe.optimizer) == (batch_size, epochs, optimizer)


@every_model
def test_a_model_is_known_by_its_own_name(name):
    assert MODELS[name].name == name


@every_model
def test_a_model_is_marked_with_the_source_it_is_named_after(name):
    assert name.split("-")[0] in MODELS[name].sources


@every_model
def test_a_model_fits_one_embedded_data_set(name):
    embedded = [data for data in DATASETS.values() if data.source is None]
    assert len([data for data in embedded if not misfit(MODELS[name], data)]) == 1
