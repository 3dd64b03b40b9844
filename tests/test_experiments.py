"""Experiments that are kept in files: what is read of them, and the tables of the pages."""

from dataclasses import replace
from math import log

import pytest

from tests import figures
from tests.characteristics import examples, series
from tests.characteristics.examples import Found
from tests.characteristics.lines import append, lines
from tests.characteristics.series import Measured, recorded

FOUND = Found(
    example="keras",
    commit="+5 % in each step",
    right=True,
    outcome="regressed",
    metric="step_time",
    change=1.05,
    lower=1.03,
    upper=1.07,
    screened=3,
    confirmed=4,
    seconds=60.4,
    load=0.5,
    date="2026-11-25",
    machine="2 cores of a processor",
    python="3.11.7",
)
PAIR = Measured(
    framework="pytorch",
    version="2.13.0",
    machine="2 cores of a processor",
    design="alternating",
    neighbours=0,
    began="2026-11-25T20:00:00",
    first_seconds=1.0,
    second_seconds=2.0,
    wall=0.01,
    cpu=0.02,
    load=1.0,
)


def test_a_line_that_was_cut_is_not_read_and_gives_way_to_the_next(tmp_path):
    file = tmp_path / "lines.jsonl"
    assert lines(file, Found) == []
    append(file, FOUND)
    file.write_bytes(file.read_bytes() + b'{"example": "ke')
    assert lines(file, Found) == [FOUND]
    append(file, replace(FOUND, right=False))
    assert lines(file, Found) == [FOUND, replace(FOUND, right=False)]


def test_the_table_of_examples_has_each_result():
    wrong = replace(FOUND, right=False, outcome="inconclusive", confirmed=0)
    points = replace(FOUND, commit="learns less", metric="accuracy", change=-20.0, lower=None, upper=-15.04)
    shown = list(examples.table([FOUND, points, wrong]))
    assert shown[-2].startswith("Not all commits were tried in `pytorch`, `lightning`, `transformers`, `keras`, `flax`")
    undecided = "`inconclusive`, which is not what the commit did"
    assert shown[-6:-3] == [
        "| `keras` | +5 % in each step | `step_time` | `regressed` | 1.050 [1.030, 1.070] | 3, and 4 fresh ones | 60 |",
        f"| `keras` | +5 % in each step | `step_time` | {undecided} | 1.050 [1.030, 1.070] | 3 | 60 |",
        "| `keras` | learns less | `accuracy` | `regressed` | -20.0 points [–, -15.0] | 3, and 4 fresh ones | 60 |",
    ]


def test_the_table_of_examples_on_the_page_is_of_what_was_kept():
    kept = list(lines(examples.FILE, Found))
    assert figures.written(examples.PAGE, examples.COMMAND) == list(examples.table(kept))


@pytest.mark.parametrize("is_quiet", [True, False])
def test_a_series_is_what_was_recorded_in_one_go_of_a_framework(tmp_path, is_quiet):
    file = tmp_path / "series.jsonl"
    busy = replace(PAIR, neighbours=2, wall=0.5)
    later = replace(PAIR, began="2026-11-25T21:00:00", wall=0.03)
    back_to_back = replace(PAIR, design="sequential", wall=None, cpu=None)
    for one in (PAIR, replace(PAIR, wall=0.02), later, busy, back_to_back):
        append(file, one)
    found = recorded("alternating", is_quiet=is_quiet, file=file)
    assert [one.wall for one in found] == ([(0.01, 0.02), (0.03,)] if is_quiet else [(0.5,)])
    (sequential,) = recorded("sequential", is_quiet=True, file=file)
    assert (sequential.seconds, sequential.wall) == ((log(1.0), log(2.0)), ())


def test_the_summary_of_series_has_a_row_for_each():
    pairs = [PAIR, replace(PAIR, wall=0.03, cpu=0.02), replace(PAIR, design="sequential", wall=None, cpu=None)]
    *_, alternating, _ = series.summary([*pairs, replace(pairs[-1], second_seconds=1.0)])
    assert alternating == "| pytorch 2.13.0 | 2 | alternating | 0 | +2.00 % | 1.41 % | 0.00 % | 1.0 |"
