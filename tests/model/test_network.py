"""Inferring a model layer by layer: names, the worker's JSON, and what does not fit."""

import pytest

from pytest_dlbench.errors import ModelError
from pytest_dlbench.model import (
    SGD,
    AvgPool,
    BatchNorm,
    Conv2D,
    Dense,
    Dropout,
    Flatten,
    MaxPool,
    Model,
    Recipe,
    ReLU,
    Sigmoid,
    SoftmaxCrossEntropy,
    Tanh,
    infer,
)


def model_of(*layers, input_shape=(1, 8, 8), classes=3):
    return Model(
        name="small",
        family="cnn",
        input_shape=input_shape,
        layers=layers,
        head=SoftmaxCrossEntropy(classes=classes),
        recipe=Recipe(batch_size=8, epochs=1, optimizer=SGD(0.1)),
    )


def digest_of(layer):
    return infer(model_of(layer, Flatten(), Dense(3))).digest


def test_layers_are_named_by_their_kind_and_numbered_from_1():
    network = infer(model_of(Conv2D(4, 3), ReLU(), Conv2D(4, 3), ReLU(), Flatten(), Dense(3)))
    assert [placed.name for placed in network.layers] == ["conv1", "relu1", "conv2", "relu2", "flatten1", "fc1"]


def test_both_kinds_of_pooling_are_numbered_together():
    network = infer(model_of(MaxPool(2), AvgPool(2), Flatten(), Dense(3)))
    assert [placed.name for placed in network.layers[:2]] == ["pool1", "pool2"]


def test_parameters_are_named_by_layer_and_role_in_the_order_of_the_layers():
    network = infer(model_of(Conv2D(4, 3, bias=False), BatchNorm(), Flatten(), Dense(3)))
    assert list(network.parameters) == ["conv1.weight", "bn1.scale", "bn1.shift", "fc1.weight", "fc1.bias"]


def test_the_parameter_count_includes_biases_scales_and_shifts():
    network = infer(model_of(Conv2D(4, 3), BatchNorm(), Flatten(), Dense(3)))
    assert network.parameter_count == (4 * 9 + 4) + (4 + 4) + (4 * 36 * 3 + 3)


def test_multiply_adds_are_summed_over_all_layers():
    network = infer(model_of(Conv2D(4, 3), ReLU(), Flatten(), Dense(3)))
    assert network.multiply_adds == 36 * 4 * 9 + 4 * 36 * 3


def test_the_worker_gets_every_size_of_every_layer():
    network = infer(model_of(Conv2D(4, 3, stride=2, padding="same"), Flatten(), Dense(3)))
    assert network.as_json() == {
        "input": [1, 8, 8],
        "classes": 3,
        "loss": "softmax_cross_entropy",
        "layers": [
            {
                "kind": "conv2d",
                "name": "conv1",
                "input": (1, 8, 8),
                "output": (4, 4, 4),
                "kernel": (3, 3),
                "stride": (2, 2),
                "padding": ((0, 1), (0, 1)),
                "bias": True,
            },
            {"kind": "flatten", "name": "flatten1", "input": (4, 4, 4), "output": (64,)},
            {"kind": "dense", "name": "fc1", "input": (64,), "output": (3,), "bias": True},
        ],
    }


@pytest.mark.parametrize(
    ("layer", "other"),
    [
        (Conv2D(4, 3), Conv2D(5, 3)),
        (Conv2D(4, 3, padding="same"), Conv2D(4, 5, padding="same")),
        (Conv2D(4, 3, padding="same"), Conv2D(4, 3)),
        (Conv2D(4, 3), Conv2D(4, 3, stride=2)),
        (Conv2D(4, 3), Conv2D(4, 3, bias=False)),
        (MaxPool(2), AvgPool(2)),
        (MaxPool(2), MaxPool(3, stride=2, padding="same")),
        (Dropout(0.25), Dropout(0.5)),
        (BatchNorm(), BatchNorm(epsilon=1e-3)),
        (BatchNorm(), BatchNorm(decay=0.99)),
        (ReLU(), Tanh()),
        (Tanh(), Sigmoid()),
    ],
    ids=str,
)
def test_the_digest_changes_with_a_setting_of_a_layer(layer, other):
    assert digest_of(layer) != digest_of(other)


def test_the_digest_changes_with_the_bias_of_a_dense_layer():
    with_bias, without = (infer(model_of(Flatten(), Dense(3, bias=bias))) for bias in (True, False))
    assert with_bias.digest != without.digest


def test_the_digest_changes_with_the_input_shape():
    small, large = (infer(model_of(AvgPool(size), Flatten(), Dense(3), input_shape=(1, size, size))) for size in (4, 8))
    assert small.digest != large.digest


@pytest.mark.parametrize(
    ("written", "otherwise"),
    [
        (Conv2D(4, 3, padding="same"), Conv2D(4, (3, 3), stride=(1, 1), padding=(1, 1))),
        (Conv2D(4, 3), Conv2D(4, 3, padding=0)),
        (MaxPool(2), MaxPool((2, 2), stride=2)),
    ],
    ids=str,
)
def test_two_ways_to_write_the_same_layer_have_the_same_digest(written, otherwise):
    assert digest_of(written) == digest_of(otherwise)


@pytest.mark.parametrize(
    ("layers", "where", "why"),
    [
        (
            (Flatten(), Conv2D(4, 3), Dense(3)),
            "layer 2 (conv1, Conv2D(filters=4, kernel=3,",
            "Conv2D needs an image (channels×height×width), got a vector of 64",
        ),
        (
            (Flatten(), ReLU(), AvgPool(2), Dense(3)),
            "layer 3 (pool1, AvgPool(window=2,",
            "AvgPool needs an image (channels×height×width), got a vector of 64",
        ),
        (
            (Conv2D(4, 9), Flatten(), Dense(3)),
            "layer 1 (conv1, Conv2D(filters=4, kernel=9,",
            "a window of 9×9 does not fit into 1×8×8 (padded 8×8)",
        ),
        (
            (MaxPool(4), MaxPool(2), MaxPool(2), Flatten(), Dense(3)),
            "layer 3 (pool3, MaxPool(window=2,",
            "a window of 2×2 does not fit into 1×1×1 (padded 1×1)",
        ),
        (
            (Conv2D(4, 3), Dense(3)),
            "layer 2 (fc1, Dense(units=3, bias=True))",
            "Dense needs a vector or a sequence, got 4×6×6; put Flatten() before it",
        ),
    ],
    ids=["conv on a vector", "pool on a vector", "window too big", "third pool too big", "dense without flatten"],
)
def test_a_layer_that_does_not_fit_is_named_with_its_model_position_and_reason(layers, where, why):
    with pytest.raises(ModelError) as caught:
        infer(model_of(*layers))
    text = str(caught.value)
    assert text.startswith(f"model 'small', input 1×8×8: {where}")
    assert text.endswith(f" does not fit: {why}")


@pytest.mark.parametrize("classes", [2, 7])
def test_a_head_that_does_not_match_the_last_layer_is_refused_with_the_remedy(classes):
    with pytest.raises(ModelError) as caught:
        infer(model_of(Flatten(), Dense(3), classes=classes))
    assert str(caught.value) == (
        f"model 'small': the output of the last layer, 3, does not fit its head, SoftmaxCrossEntropy;"
        f" end with Dense({classes})"
    )


def test_a_network_that_ends_with_an_image_is_refused():
    with pytest.raises(
        ModelError, match=r"the output of the last layer, 3×6×6, does not fit its head, .*; end with Dense\(3\)"
    ):
        infer(model_of(Conv2D(3, 3)))
