"""The table of what would run."""

import pytest

from pytest_dlbench.records import SkippedCell
from pytest_dlbench.reporting.dry_run import Row, table

RUNS = Row(
    case="pytorch-lenet",
    state="runs",
    parameters=431_080,
    multiply_adds=2_293_000,
    steps=20,
    recipe_steps=88,
    batch_size=32,
    runs=3,
    seconds=12.4,
)
GONE = Row(case="torch7-lenet", state="unsupported: gone", parameters=431_080, multiply_adds=2_293_000)
CELLS = [
    SkippedCell(id="jax-fcn-digits32", reason="it does not fit"),
    SkippedCell(id="jax-fcn-digits", reason="nor does it"),
]


def lines(*rows, skipped=(), is_verbose=False):
    return [" ".join(line.split()) for line in table(rows, skipped, is_verbose=is_verbose)]


def test_a_row_has_sizes_steps_runs_time_and_state():
    assert "pytorch-lenet 431 K 2.29 M 20 of 88 32 3 ~12 s runs" in lines(RUNS)


def test_a_case_that_would_not_run_has_only_its_size():
    assert "torch7-lenet 431 K 2.29 M – – – – unsupported: gone" in lines(GONE)


def test_a_complete_training_has_one_number_of_steps():
    assert " 88 32 " in lines(Row(case="a", state="runs", steps=88, recipe_steps=88, batch_size=32))[2]


@pytest.mark.parametrize(
    ("rows", "total"),
    [
        ([RUNS], "total: 1 case, 3 runs, ~12 s (1 estimated)"),
        ([RUNS, GONE], "total: 1 case, 3 runs, ~12 s (1 estimated)"),
        (
            [RUNS, Row(case="b", state="runs", runs=3, seconds=3600.0, is_measured=True)],
            "total: 2 cases, 6 runs, ~1 h 00 min (1 from the journals, 1 estimated)",
        ),
        (
            [Row(case="b", state="runs", runs=3, seconds=75.0, is_measured=True)],
            "total: 1 case, 3 runs, 1 min 15 s (1 from the journals)",
        ),
        ([Row(case="c", state="runs (who knows)")], "total: 1 case, 0 runs, ~0 s (1 of unknown length)"),
        ([GONE], "total: nothing to run"),
    ],
)
def test_the_total_is_of_cases_that_would_run(rows, total):
    assert lines(*rows)[-1] == total


def test_skipped_cells_are_counted_by_reason():
    assert lines(RUNS, skipped=CELLS)[-2] == "skipped: 2 cells of the matrix: 1 × it does not fit; 1 × nor does it"


def test_skipped_cells_are_listed_when_verbose():
    assert "jax-fcn-digits32 – – – – – – skipped: it does not fit" in lines(RUNS, skipped=CELLS, is_verbose=True)
