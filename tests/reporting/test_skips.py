"""What a session says about skipped cells of the matrix."""

import pytest

from pytest_dlbench.records import SkippedCell
from pytest_dlbench.reporting import skips

CELLS = [
    SkippedCell(id="pytorch-net-a", reason="net takes 28×28, a has 32×32"),
    SkippedCell(id="jax-net-a", reason="net takes 28×28, a has 32×32"),
    SkippedCell(id="jax-net-b", reason="net has 10 classes, b 100"),
]
MANY = [
    SkippedCell(id=f"{reason}-{index}", reason=f"reason {reason}") for reason in range(250) for index in range(reason)
]


def test_listed_cells_are_counted_by_reason():
    assert sorted(skips.lines(CELLS, is_listed=True)) == [
        "skipped: 1 × net has 10 classes, b 100",
        "skipped: 2 × net takes 28×28, a has 32×32",
    ]


def test_cells_that_are_not_listed_are_one_line_with_the_reasons():
    assert skips.lines(CELLS, is_listed=False) == [
        "skipped: 3 cells of the matrix: 2 × net takes 28×28, a has 32×32; 1 × net has 10 classes, b 100"
    ]


def test_of_many_reasons_the_three_most_frequent_are_shown():
    (line,) = skips.lines(MANY, is_listed=False)
    assert line.startswith(
        "skipped: 31,125 cells of the matrix: 249 × reason 249; 248 × reason 248; 247 × reason 247; "
    )
    assert line.endswith("; 30,381 for 246 other reasons, which -rs or -v lists")


def test_a_single_reason_is_shown_whether_listed_or_not():
    assert skips.lines(CELLS[:1], is_listed=False) == skips.lines(CELLS[:1], is_listed=True)


def test_a_cell_that_two_tests_skip_counts_once():
    assert skips.lines(CELLS * 2, is_listed=True) == skips.lines(CELLS, is_listed=True)


@pytest.mark.parametrize("is_listed", [True, False])
def test_without_skipped_cells_there_is_no_line(is_listed):
    assert skips.lines([], is_listed=is_listed) == []
