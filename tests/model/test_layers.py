"""What each layer makes of one input shape."""

from math import prod

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_dlbench.errors import ModelError
from pytest_dlbench.model import (
    AvgPool,
    BatchNorm,
    Conv2D,
    Dense,
    Dropout,
    Flatten,
    GlobalAvgPool,
    LocalResponseNorm,
    MaxPool,
    Parameter,
    ReLU,
    Sigmoid,
    Tanh,
)

law = settings(deadline=None)
shapes = st.one_of(st.tuples(st.integers(1, 500)), st.tuples(st.integers(1, 4), st.integers(3, 20), st.integers(3, 20)))
images = st.tuples(st.integers(1, 4), st.integers(3, 20), st.integers(3, 20))


def shapes_by_role(inferred):
    return {parameter.role: parameter.shape for parameter in inferred.parameters}


def test_a_convolution_gives_one_channel_per_filter():
    assert Conv2D(32, 3).infer((3, 10, 12)).output == (32, 8, 10)


def test_convolution_weights_are_outputs_by_inputs_by_rows_by_columns():
    assert shapes_by_role(Conv2D(32, (5, 3)).infer((4, 10, 10))) == {"weight": (32, 4, 5, 3), "bias": (32,)}


def test_a_convolution_without_bias_has_weights_only():
    assert shapes_by_role(Conv2D(32, 3, bias=False).infer((4, 10, 10))) == {"weight": (32, 4, 3, 3)}


def test_the_fans_of_a_convolution_are_channels_times_the_window():
    weight = Conv2D(32, (5, 3)).infer((4, 10, 10)).parameters[0]
    assert (weight.fan_in, weight.fan_out) == (4 * 15, 32 * 15)


def test_a_convolution_strides_rows_then_columns():
    assert Conv2D(1, 1, stride=(2, 3)).infer((1, 9, 9)).output == (1, 5, 3)


def test_the_geometry_of_a_convolution_is_resolved_for_the_builder():
    geometry = Conv2D(8, 3, padding="same").infer((1, 6, 7)).geometry
    assert geometry == {"kernel": (3, 3), "stride": (1, 1), "padding": ((1, 1), (1, 1)), "bias": True}


@law
@given(images, st.integers(1, 8), st.tuples(st.integers(1, 3), st.integers(1, 3)), st.integers(1, 3))
def test_every_output_of_a_convolution_costs_the_multiply_adds_of_one_filter(image, filters, kernel, stride):
    inferred = Conv2D(filters, kernel, stride=stride, padding="same").infer(image)
    one_filter = image[0] * prod(kernel)
    assert inferred.multiply_adds == prod(inferred.output) * one_filter


def test_a_dense_layer_gives_a_vector_of_its_units():
    assert Dense(10).infer((784,)).output == (10,)


def test_dense_weights_are_inputs_by_outputs():
    assert shapes_by_role(Dense(10).infer((784,))) == {"weight": (784, 10), "bias": (10,)}


def test_a_dense_layer_without_bias_has_weights_only():
    assert shapes_by_role(Dense(10, bias=False).infer((784,))) == {"weight": (784, 10)}


def test_the_fans_of_a_dense_layer_are_its_inputs_and_outputs():
    weight = Dense(10).infer((784,)).parameters[0]
    assert (weight.fan_in, weight.fan_out) == (784, 10)


def test_a_dense_layer_costs_one_multiply_add_per_weight():
    assert Dense(10).infer((784,)).multiply_adds == 7840


@law
@given(shapes)
def test_flattening_keeps_every_value(shape):
    assert Flatten().infer(shape).output == (prod(shape),)


@pytest.mark.parametrize("pool", [MaxPool, AvgPool])
def test_pooling_without_a_stride_has_adjacent_windows(pool):
    assert pool((2, 3)).infer((5, 6, 6)).output == (5, 3, 2)


@pytest.mark.parametrize("pool", [MaxPool, AvgPool])
def test_pooling_with_a_stride_overlaps_its_windows(pool):
    assert pool(3, stride=2).infer((5, 7, 9)).output == (5, 3, 4)


@pytest.mark.parametrize("pool", [MaxPool, AvgPool])
def test_pooling_drops_rows_and_columns_that_do_not_fill_a_window(pool):
    assert pool(2).infer((5, 13, 15)).output == (5, 6, 7)


@pytest.mark.parametrize("pool", [MaxPool, AvgPool])
def test_the_geometry_of_pooling_is_resolved_for_the_builder(pool):
    geometry = pool(3, stride=2, padding="same").infer((1, 8, 8)).geometry
    assert geometry == {"window": (3, 3), "stride": (2, 2), "padding": ((0, 1), (0, 1))}


@law
@given(shapes, st.sampled_from([ReLU(), Tanh(), Sigmoid(), Dropout(0.5), BatchNorm()]))
def test_activation_dropout_and_normalisation_keep_the_shape(shape, layer):
    assert layer.infer(shape).output == shape


@law
@given(images, st.sampled_from([ReLU(), Tanh(), Sigmoid(), Dropout(0.5), BatchNorm(), MaxPool(2), AvgPool(2)]))
def test_other_layers_count_no_multiply_adds(image, layer):
    assert layer.infer(image).multiply_adds == 0


@pytest.mark.parametrize("shape", [(6, 4, 4), (6,)], ids=["image", "vector"])
def test_batch_norm_has_a_scale_and_a_shift_per_channel_or_feature(shape):
    assert shapes_by_role(BatchNorm().infer(shape)) == {"scale": (6,), "shift": (6,)}


def test_the_geometry_of_batch_norm_has_its_epsilon_and_decay():
    assert BatchNorm(epsilon=1e-3, decay=0.99).infer((6,)).geometry == {"epsilon": 1e-3, "decay": 0.99}


def test_the_geometry_of_dropout_has_its_rate():
    assert Dropout(0.25).infer((6,)).geometry == {"rate": 0.25}


@pytest.mark.parametrize("layer", [ReLU(), Tanh(), Sigmoid(), Dropout(0.5), Flatten(), MaxPool(2), AvgPool(2)])
def test_a_layer_without_weights_has_no_parameters(layer):
    assert layer.infer((2, 4, 4)).parameters == ()


def test_max_and_average_pooling_with_equal_settings_differ():
    assert MaxPool(2) != AvgPool(2)


def test_a_bias_has_no_fans():
    assert Dense(3).infer((2,)).parameters[1] == Parameter(role="bias", shape=(3,), fan_in=0, fan_out=0)


def test_a_grouped_convolution_has_weights_for_the_channels_of_its_group_only():
    inferred = Conv2D(6, 3, groups=2).infer((4, 10, 10))
    assert inferred.parameters[0].shape == (6, 2, 3, 3)
    assert (inferred.parameters[0].fan_in, inferred.parameters[0].fan_out) == (2 * 9, 3 * 9)
    assert inferred.multiply_adds == 6 * 2 * 9 * 64


def test_a_grouped_convolution_is_a_separate_kind():
    assert (Conv2D(4, 3).kind, Conv2D(4, 3, groups=2).kind) == ("conv2d", "grouped_conv2d")


def test_filters_that_cannot_be_grouped_are_refused():
    with pytest.raises(ModelError, match="5 filters cannot be divided into 2 groups"):
        Conv2D(5, 3, groups=2)


def test_channels_that_cannot_be_grouped_are_refused():
    with pytest.raises(ModelError, match="3 channels cannot be divided into 2 groups"):
        Conv2D(4, 3, groups=2).infer((3, 8, 8))


@pytest.mark.parametrize(
    ("size", "window", "stride", "padding", "outputs"),
    # 32, 3, 2: Caffe's cifar10_quick; the last row has windows that would cover only padding.
    [
        (32, 3, 2, 0, 16),
        (16, 3, 2, 0, 8),
        (112, 3, 2, 0, 56),
        (7, 2, 2, 0, 4),
        (8, 2, 2, 0, 4),
        (7, 3, 2, 1, 4),
        (3, 2, 2, 1, 2),
    ],
)
def test_pooling_with_ceil_visits_the_remaining_rows_and_columns(size, window, stride, padding, outputs):
    pool = MaxPool(window, stride=stride, padding=padding, ceil=True)
    assert pool.infer((1, size, size)).output == (1, outputs, outputs)


def test_global_pooling_averages_the_whole_image():
    inferred = GlobalAvgPool().infer((5, 7, 9))
    assert inferred.output == (5, 1, 1)
    assert inferred.geometry["window"] == (7, 9)


@pytest.mark.parametrize("size", [2, 0])
def test_response_normalisation_over_an_even_number_of_channels_is_refused(size):
    with pytest.raises(ModelError, match="LocalResponseNorm"):
        LocalResponseNorm(size)
