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


def lines(*rows, left_out=(), is_verbose=False):
    return [" ".join(line.split()) for line in table(rows, left_out, is_verbose=is_verbose)]


def test_a_row_has_sizes_steps_runs_time_and_state():
    assert "pytorch-lenet 431 K 2.29 M 20 of 88 32 3 ~12 s runs" in lines(RUNS)


def test_what_would_not_run_has_no_figures_but_its_size():
    assert "torch7-lenet 431 K 2.29 M – – – – unsupported: gone" in lines(GONE)


def test_a_training_of_all_its_steps_has_one_number():
    assert " 88 32 " in lines(Row(case="a", state="runs", steps=88, recipe_steps=88, batch_size=32))[2]


@pytest.mark.parametrize(
    ("rows", "told"),
    [
        ([RUNS], "in all: 1 case, 3 runs, ~12 s (1 estimated)"),
        ([RUNS, GONE], "in all: 1 case, 3 runs, ~12 s (1 estimated)"),
        (
            [RUNS, Row(case="b", state="runs", runs=3, seconds=3600.0, is_measured=True)],
            "in all: 2 cases, 6 runs, ~1 h 00 min (1 by the journals, 1 estimated)",
        ),
        (
            [Row(case="b", state="runs", runs=3, seconds=75.0, is_measured=True)],
            "in all: 1 case, 3 runs, 1 min 15 s (1 by the journals)",
        ),
        ([Row(case="c", state="runs (who knows)")], "in all: 1 case, 0 runs, ~0 s (1 of unknown length)"),
        ([GONE], "in all: nothing would run"),
    ],
)
def test_the_sum_is_of_what_would_run(rows, told):
    assert lines(*rows)[-1] == told


def test_what_is_left_out_is_counted_by_reason():
    assert lines(RUNS, left_out=CELLS)[-3:-1] == ["left out: 1 × it does not fit", "left out: 1 × nor does it"]


def test_what_is_left_out_is_listed_when_verbose():
    assert "jax-fcn-digits32 – – – – – – left out: it does not fit" in lines(RUNS, left_out=CELLS, is_verbose=True)
