"""The row to repeat: which cases it is of, and where a repetition should land."""

import re

import pytest

from pytest_dlbench.options.table import OPTIONS
from pytest_dlbench.reporting.study import row
from pytest_dlbench.reporting.study.document import Lacking, Paragraph, Table
from tests.doubles.judged import judged, measured


def of_row(framework, **changes):
    return judged(framework, **{"dataset": "fashion-mnist", "scale": "full", "runs": 5, **changes})


def blocks(*cases):
    found = row.section(measured(*cases))
    return {type(block): block for block in found.blocks}


def test_both_frameworks_have_the_interval_of_a_repetition():
    table = blocks(of_row("jax", accuracy=0.88), of_row("pytorch", accuracy=0.9))[Table]
    found = {(cells[0], cells[1]): cells[2:] for cells in table.rows}
    assert [name for name, _ in found] == sorted((name for name, _ in found), key=("pytorch", "jax").index)
    # Not those of other networks and data, such as mAP.
    assert not any("nan" in text for cells in table.rows for text in cells)
    runs, mean, within = found["jax", "accuracy"]
    assert runs == "5"
    assert mean == "88.00 % [88.00, 88.00]"
    # Runs that agree still have the assumed spread of 0.28 points.
    lower, upper = map(float, re.findall(r"[\d.]+", within))
    assert lower < 87.8
    assert upper > 88.2


def test_a_repetition_has_the_runs_that_a_session_has_by_default():
    assert [int(option.default) for option in OPTIONS if option.name == "runs"] == [row.RUNS]


def test_times_are_those_of_this_machine():
    items = blocks(of_row("pytorch", step=0.01), of_row("jax", step=0.03))[Paragraph].items
    assert items[-1].startswith("a step of jax takes 3.00 times as long as one of pytorch")


@pytest.mark.parametrize(
    "other", [{"scale": "smoke"}, {"dataset": "digits28"}, {"settings": {"batch_size": 32}}, {"device": "gpu"}]
)
def test_other_cases_are_not_of_the_row(other):
    found = row.section(measured(of_row("pytorch"), of_row("jax", **other)))
    assert isinstance(found, Lacking)
    assert found.command == row.SESSION


def test_of_two_rows_the_one_with_the_default_threads_is_shown():
    cases = [of_row(name, threads=threads) for threads in (2, 1) for name in ("pytorch", "jax", "mxnet")]
    table = blocks(*cases)[Table]
    assert "2 threads" in table.caption
    assert {cells[0] for cells in table.rows} == {"pytorch", "jax"}
