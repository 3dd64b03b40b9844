"""Initial weights: their range, their seeds, and what stays the same when a model changes."""

import numpy as np
import pytest

from pytest_dlbench.model import (
    SGD,
    BatchNorm,
    Conv2D,
    Dense,
    Flatten,
    Model,
    Recipe,
    ReLU,
    Sigmoid,
    SoftmaxCrossEntropy,
    Tanh,
    infer,
)
from pytest_dlbench.model.initial import initial_weights


def weights_of(*layers, input_shape=(2, 9, 9), classes=10, seed=1, rule="glorot"):
    model = Model(
        name="small",
        family="cnn",
        input_shape=input_shape,
        layers=layers,
        head=SoftmaxCrossEntropy(classes=classes),
        recipe=Recipe(batch_size=8, epochs=1, optimizer=SGD(0.1)),
    )
    return initial_weights(infer(model), seed=seed, rule=rule)


def test_the_same_seed_gives_the_same_arrays():
    again = weights_of(Flatten(), Dense(10), seed=7)
    for name, array in weights_of(Flatten(), Dense(10), seed=7).items():
        np.testing.assert_array_equal(array, again[name])


def test_two_seeds_share_no_weight():
    one, other = (weights_of(Flatten(), Dense(10), seed=seed)["fc1.weight"] for seed in (1, 2))
    assert not np.any(one == other)


def test_two_layers_of_the_same_shape_share_no_weight():
    arrays = weights_of(Dense(10), Dense(10), input_shape=(10,))
    assert not np.any(arrays["fc1.weight"] == arrays["fc2.weight"])


def test_an_inserted_layer_does_not_change_the_weights_of_others():
    alone = weights_of(Flatten(), Dense(10))
    beside = weights_of(BatchNorm(), Flatten(), Dense(10))
    np.testing.assert_array_equal(alone["fc1.weight"], beside["fc1.weight"])


def test_the_weights_of_a_seed_never_change():
    # Baselines and golden losses rely on this: PCG64 seeded with (seed, CRC-32 of the array's name).
    weight = weights_of(Dense(2), input_shape=(2,), classes=2, seed=20261121)["fc1.weight"]
    np.testing.assert_allclose(
        weight, [[-0.8255108927731596, 0.046156761866714024], [-1.1903710790807478, -0.5861292337029833]], rtol=1e-12
    )


def test_all_arrays_are_float64():
    arrays = weights_of(Conv2D(4, 3), BatchNorm(), Flatten(), Dense(10))
    assert {array.dtype for array in arrays.values()} == {np.dtype(np.float64)}


@pytest.mark.parametrize(
    ("name", "fans"),
    [("conv1.weight", 2 * 9 + 40 * 9), ("fc1.weight", 40 * 49 + 10)],
    ids=["conv", "dense"],
)
def test_weights_fill_the_range_of_glorot_and_bengio(name, fans):
    weight = weights_of(Conv2D(40, 3), Flatten(), Dense(10))[name]
    limit = np.sqrt(6 / fans)
    assert 0.98 * limit < np.abs(weight).max() <= limit


@pytest.mark.parametrize(("name", "inputs"), [("conv1.weight", 2 * 9), ("fc1.weight", 40 * 49)], ids=["conv", "dense"])
def test_weights_by_hes_rule_have_a_variance_of_2_over_fan_in(name, inputs):
    weight = weights_of(Conv2D(40, 3), ReLU(), Flatten(), Dense(10), rule="he")[name]
    assert 0.98 * np.sqrt(6 / inputs) < np.abs(weight).max() <= np.sqrt(6 / inputs)
    assert np.var(weight) == pytest.approx(2 / inputs, rel=0.1)


# The first layer has no ReLU before it, so He's rule doubles the second moment there, and Glorot's keeps it.
@pytest.mark.parametrize(("rule", "growth"), [("he", 2.0), ("glorot", 0.5**11)])
def test_relu_layers_keep_the_second_moment_by_hes_rule_and_halve_it_by_glorots(rule, growth):
    layers = [layer for _ in range(12) for layer in (Dense(500), ReLU())]
    weights = weights_of(*layers[:-1], input_shape=(500,), classes=500, rule=rule)
    inputs = np.random.default_rng(1).normal(size=(100, 500))
    outputs = inputs @ weights["fc1.weight"]
    for number in range(2, 13):
        outputs = np.maximum(outputs, 0) @ weights[f"fc{number}.weight"]
    assert np.mean(outputs**2) / np.mean(inputs**2) == pytest.approx(growth, rel=0.4)


def test_weights_are_negative_as_often_as_positive():
    weight = weights_of(Dense(100), input_shape=(100,), classes=100)["fc1.weight"]
    assert np.mean(weight > 0) == pytest.approx(0.5, abs=0.02)


def test_weights_before_a_sigmoid_are_four_times_as_large():
    sigmoid = weights_of(Flatten(), Dense(20), Sigmoid(), Dense(10))["fc1.weight"]
    tanh = weights_of(Flatten(), Dense(20), Tanh(), Dense(10))["fc1.weight"]
    np.testing.assert_allclose(sigmoid, 4 * tanh, rtol=1e-12)


def test_weights_after_a_sigmoid_are_not_larger():
    sigmoid = weights_of(Flatten(), Dense(20), Sigmoid(), Dense(10))["fc2.weight"]
    tanh = weights_of(Flatten(), Dense(20), Tanh(), Dense(10))["fc2.weight"]
    np.testing.assert_array_equal(sigmoid, tanh)


@pytest.mark.parametrize(
    ("name", "value"), [("conv1.bias", 0.0), ("bn1.scale", 1.0), ("bn1.shift", 0.0), ("fc1.bias", 0.0)]
)
def test_biases_and_shifts_start_at_0_and_scales_at_1(name, value):
    array = weights_of(Conv2D(4, 3), BatchNorm(), Flatten(), Dense(10))[name]
    np.testing.assert_array_equal(array, np.full(array.shape, value))


def test_a_layer_without_parameters_changes_no_weights():
    plain = weights_of(Conv2D(4, 3), Flatten(), Dense(10))
    activated = weights_of(Conv2D(4, 3), ReLU(), Flatten(), Dense(10))
    assert all(np.array_equal(array, activated[name]) for name, array in plain.items())


def test_a_later_layer_changes_no_weights_before_it():
    short = weights_of(Conv2D(4, 3), Flatten(), Dense(10))
    long = weights_of(Conv2D(4, 3), Flatten(), Dense(10), Dense(10))
    assert all(np.array_equal(array, long[name]) for name, array in short.items())
