"""Invalid layer settings are refused when the layer is created, with the value that was given."""

from math import inf, nan

import pytest

from pytest_dlbench.errors import ModelError
from pytest_dlbench.model import AvgPool, BatchNorm, Conv2D, Dense, Dropout, MaxPool


@pytest.mark.parametrize(
    ("filters", "kernel", "stride"),
    [(0, 3, 1), (-1, 3, 1), (8, 0, 1), (8, (3, 0), 1), (8, 3, 0), (8, 3, (1, -1))],
)
def test_a_convolution_without_filters_kernel_or_stride_is_refused(filters, kernel, stride):
    with pytest.raises(ModelError, match="Conv2D filters, kernel, stride and groups must be 1 or more, got"):
        Conv2D(filters, kernel, stride=stride)


@pytest.mark.parametrize("pool", [MaxPool, AvgPool])
@pytest.mark.parametrize(("window", "stride"), [(0, None), ((2, 0), None), (2, 0), (2, (1, -1))])
def test_pooling_without_window_or_stride_is_refused(pool, window, stride):
    with pytest.raises(ModelError, match="pooling window and stride must be 1 or more, got"):
        pool(window, stride=stride)


def padded_convolution(padding):
    return Conv2D(8, 3, padding=padding)


def padded_pooling(padding):
    return MaxPool(2, padding=padding)


@pytest.mark.parametrize("layer", [padded_convolution, padded_pooling])
@pytest.mark.parametrize("padding", [-1, (0, -2), (-1, 1)])
def test_negative_padding_is_refused_with_its_value(layer, padding):
    with pytest.raises(ModelError) as caught:
        layer(padding)
    assert str(caught.value) == f"padding must not be negative, got {padding!r}"


@pytest.mark.parametrize("layer", [padded_convolution, padded_pooling])
@pytest.mark.parametrize("padding", ["SAME", "full", ""])
def test_an_unknown_padding_is_refused_with_the_valid_ones(layer, padding):
    with pytest.raises(ModelError) as caught:
        layer(padding)
    assert str(caught.value) == f"padding must be 'valid', 'same', a number or a pair of numbers, got {padding!r}"


@pytest.mark.parametrize("pool", [MaxPool, AvgPool])
@pytest.mark.parametrize(("window", "padding"), [(2, 2), (3, 2), (1, 1), ((4, 2), 2), ((2, 4), (1, 3))])
def test_pooling_padding_of_more_than_half_the_window_is_refused(pool, window, padding):
    with pytest.raises(ModelError) as caught:
        pool(window, padding=padding)
    assert str(caught.value) == f"pooling padding must be at most half the window, got {padding} for {window}"


@pytest.mark.parametrize(("window", "padding"), [(2, 1), (3, 1), ((4, 2), (2, 1)), (2, "same"), (1, "valid")])
def test_pooling_padding_of_up_to_half_the_window_is_accepted(window, padding):
    assert MaxPool(window, padding=padding).padding == padding


@pytest.mark.parametrize("units", [0, -10])
def test_a_dense_layer_without_units_is_refused(units):
    with pytest.raises(ModelError, match=f"Dense units must be 1 or more, got {units}"):
        Dense(units)


@pytest.mark.parametrize("rate", [1.0, 1.5, -0.1, nan])
def test_a_dropout_rate_below_0_or_of_at_least_1_is_refused(rate):
    with pytest.raises(ModelError, match=f"Dropout rate must be at least 0 and below 1, got {rate}"):
        Dropout(rate)


@pytest.mark.parametrize("rate", [0.0, 0.999])
def test_a_dropout_rate_of_at_least_0_and_below_1_is_accepted(rate):
    assert Dropout(rate).rate == rate


@pytest.mark.parametrize("decay", [1.0, -0.1, nan])
def test_a_batch_norm_decay_below_0_or_of_at_least_1_is_refused(decay):
    with pytest.raises(ModelError, match=f"BatchNorm decay must be at least 0 and below 1, got {decay}"):
        BatchNorm(decay=decay)


@pytest.mark.parametrize("epsilon", [0.0, -1e-5, nan, inf])
def test_a_batch_norm_epsilon_that_is_not_a_number_above_0_is_refused(epsilon):
    with pytest.raises(ModelError, match=f"BatchNorm epsilon must be above 0 and finite, got {epsilon}"):
        BatchNorm(epsilon=epsilon)
