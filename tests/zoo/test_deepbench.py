"""DeepBench's sizes, against figures of its own headers and its report."""

from collections import Counter

import pytest

from pytest_dlbench.zoo import deepbench


def test_every_list_has_as_many_operators_as_the_source():
    # Without those that the source lists twice.
    assert Counter((one.operator.kind, one.source) for one in deepbench.listed()) == {
        ("gemm", "training"): 160,
        ("gemm", "inference_server"): 75,
        ("gemm", "inference_device"): 13,
        ("convolution", "training"): 90,
        ("convolution", "inference_server"): 103,
        ("convolution", "inference_device"): 15,
        ("recurrent", "training"): 53,
        ("recurrent", "inference_server"): 69,
        ("recurrent", "inference_device"): 3,
    }


def test_all_reduces_of_a_scale_are_all_that_its_bytes_allow():
    assert [one.numbers for one in deepbench.shared()][-2:] == [38_360_000, 64_500_000]
    assert [one.numbers for one in deepbench.shared(2**26)] == [100_000, 3_097_600, 4_194_304, 6_553_600]


def test_only_those_of_training_have_gradients():
    assert {one.operator.is_trained for one in deepbench.listed() if one.source == "training"} == {True}
    assert {one.operator.is_trained for one in deepbench.listed() if one.source != "training"} == {False}


@pytest.mark.parametrize(
    ("name", "output", "multiply_adds"),
    [
        ("gemm-35x8457x1760-tn", (35, 8457), 35 * 8457 * 1760),
        ("gemm-3072x7435x1024-nt", (3072, 7435), 3072 * 7435 * 1024),
        # Deep Speech's first layer: filters of 20 × 5 pixels on spectrograms of 700 × 161.
        ("convolution-700x161x1-n32-k32-f20x5-p0x0-s2x2", (32, 32, 79, 341), 32 * 32 * 79 * 341 * 100),
        ("convolution-224x224x3-n16-k64-f7x7-p3x3-s2x2", (16, 64, 112, 112), 16 * 64 * 112 * 112 * 147),
        ("lstm-512-n16-t25", (25, 16, 512), 25 * 16 * 4 * 512 * 1024),
    ],
)
def test_its_sizes_are_read_in_their_order(name, output, multiply_adds):
    found = {operator.name: operator for operator in deepbench.every()}[name]
    assert (found.output, found.multiply_adds) == (output, multiply_adds)


def test_each_group_has_its_largest_operator_within_the_limits():
    chosen = deepbench.chosen(2e9, 2**26)
    groups = {one.operator: one.group for one in deepbench.listed()}
    assert len({groups[one] for one in chosen}) == len(chosen) == 13
    for operator in chosen:
        assert operator.flops("forward") <= 2e9
        larger = [
            one for one in groups if groups[one] == groups[operator] and one.multiply_adds > operator.multiply_adds
        ]
        assert all(one.flops("forward") > 2e9 or one.total_bytes > 2**26 for one in larger)
