"""The number of window positions, and what padding adds."""

from math import ceil

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_dlbench.model.layers import DoesNotFit
from pytest_dlbench.model.layers.window import resolve_pads, slide

NO_PADS = ((0, 0), (0, 0))

law = settings(deadline=None)
images = st.tuples(st.integers(1, 4), st.integers(1, 40), st.integers(1, 40))
pairs = st.tuples(st.integers(1, 8), st.integers(1, 8))
paddings = st.tuples(st.integers(0, 4), st.integers(0, 4))


def padded(image, pads):
    return tuple(size + before + after for size, (before, after) in zip(image[1:], pads, strict=True))


def count_positions(size, window, step):
    return sum(1 for start in range(0, size, step) if start + window <= size)


@law
@given(images, pairs, pairs)
def test_same_padding_gives_the_size_over_the_stride_rounded_up(image, kernel, stride):
    pads = resolve_pads("same", image, kernel, stride)
    expected = tuple(ceil(size / step) for size, step in zip(image[1:], stride, strict=True))
    assert slide(image, kernel, stride, pads) == expected


@law
@given(images, pairs, pairs)
def test_same_padding_puts_an_odd_row_or_column_at_the_end(image, kernel, stride):
    for before, after in resolve_pads("same", image, kernel, stride):
        assert after - before in (0, 1)


@law
@given(images, pairs, pairs)
def test_same_padding_adds_no_more_than_the_last_window_needs(image, kernel, stride):
    pads = resolve_pads("same", image, kernel, stride)
    positions = slide(image, kernel, stride, pads)
    for direction, pad in enumerate(pads):
        if sum(pad):
            last_start = (positions[direction] - 1) * stride[direction]
            assert padded(image, pads)[direction] == last_start + kernel[direction]


@law
@given(images, pairs, pairs, paddings)
def test_slide_counts_the_same_positions_as_brute_force(image, kernel, stride, padding):
    pads = resolve_pads(padding, image, kernel, stride)
    sizes = padded(image, pads)
    counted = tuple(map(count_positions, sizes, kernel, stride))
    if 0 in counted:
        with pytest.raises(DoesNotFit):
            slide(image, kernel, stride, pads)
    else:
        assert slide(image, kernel, stride, pads) == counted


@law
@given(images, pairs, pairs)
def test_valid_padding_adds_nothing(image, kernel, stride):
    assert resolve_pads("valid", image, kernel, stride) == NO_PADS


def test_a_number_pads_all_four_sides():
    assert resolve_pads(2, (1, 8, 8), (3, 3), (1, 1)) == ((2, 2), (2, 2))


def test_a_pair_pads_rows_then_columns():
    assert resolve_pads((1, 3), (1, 8, 8), (3, 3), (1, 1)) == ((1, 1), (3, 3))


def test_an_even_window_with_same_padding_pads_the_end_only():
    assert resolve_pads("same", (1, 8, 8), (2, 2), (1, 1)) == ((0, 1), (0, 1))


def test_rows_and_columns_that_do_not_fill_a_window_are_dropped():
    assert slide((1, 5, 7), (2, 2), (2, 2), NO_PADS) == (2, 3)


def test_a_window_larger_than_the_padded_image_is_refused_with_all_three_sizes():
    with pytest.raises(DoesNotFit, match=r"a window of 5×5 does not fit into 1×2×3 \(padded 4×5\)"):
        slide((1, 2, 3), (5, 5), (1, 1), ((1, 1), (1, 1)))


@pytest.mark.parametrize("image", [(1, 2, 9), (1, 9, 2)], ids=["too few rows", "too few columns"])
def test_a_window_must_fit_in_both_directions(image):
    with pytest.raises(DoesNotFit, match="does not fit"):
        slide(image, (3, 3), (1, 1), NO_PADS)
