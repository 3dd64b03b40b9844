"""Text of others, before it is shown."""

import csv
import json
from io import StringIO

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_dlbench.reporting import foreign
from tests.doubles import hostile


@given(st.text())
def test_one_line_stays_one_line_that_nothing_acts_on(text):
    shown = foreign.line(text)
    assert hostile.acted_on(shown) == []
    assert len(shown.splitlines()) <= 1


@given(st.text(alphabet="#:[ \tsection_start:end\x1b\u202e\n"))
def test_escaping_twice_changes_nothing(text):
    assert foreign.line(foreign.line(text)) == foreign.line(text)
    assert foreign.block(foreign.block(text)) == foreign.block(text)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain, 28×28 → 1.5 ±2 µs “quoted” Ünïcödé 漢字", "plain, 28×28 → 1.5 ±2 µs “quoted” Ünïcödé 漢字"),
        (r"C:\new\x", r"C:\new\x"),
        ("\x1b[31mred", r"\x1b[31mred"),
        ("\x9b2J", r"\x9b2J"),
        ("two\nlines\r", r"two\nlines\r"),
        ("a\tb", "a    b"),
        ("::error::forged", r"\x3a:error::forged"),
        ("   ::error::forged", r"   \x3a:error::forged"),
        ("bench/a.py::test_it", "bench/a.py::test_it"),
        ("so ##[error]forged", r"so \x23#[error]forged"),
        ("##vso[task.complete]", r"\x23#vso[task.complete]"),
        ("## a heading", "## a heading"),
        ("section_end:1:forged", r"section_end\x3a1:forged"),
        ("\u202edesrever", r"\u202edesrever"),
        ("a\u200bb\ufeff", r"a\u200bb\ufeff"),
        ("\u3164", r"\u3164"),
        ("\ud800", r"\ud800"),
    ],
)
def test_what_acts_is_shown_as_its_escape(text, shown):
    assert foreign.line(text) == shown


def test_text_of_several_lines_keeps_them():
    assert foreign.block("one\n::error::two\x1b") == "one\n\\x3a:error::two\\x1b"


def test_markdown_has_neither_html_nor_markup_nor_lines():
    shown = foreign.markdown("<script>|`*_[x](y)~#$\n| a | b |")
    assert shown == r"&lt;script&gt;\|\`\*\_\[x\](y)\~\#\$\\n\| a \| b \|"


@pytest.mark.parametrize("text", ["=1+1", "+1", "-1", "@SUM(A1)", "  =1+1", "\uff1d1+1", "\uff0b1"])
def test_a_cell_is_no_formula(text):
    assert foreign.cell(text) == f"'{text}"


@pytest.mark.parametrize("text", ["linux-acme", '{"a": "1"}', "2026-11-21T02:14:05+00:00", ""])
def test_other_cells_stay_as_they_are(text):
    assert foreign.cell(text) == text


@given(st.text())
def test_a_cell_is_one_line_of_the_file(text):
    file = StringIO()
    csv.writer(file).writerow([foreign.cell(text), "end"])
    assert len(file.getvalue().splitlines()) == 1


@given(st.dictionaries(st.text(), st.text()))
def test_json_keeps_the_data(data):
    shown = foreign.in_json(json.dumps(data, indent=2, ensure_ascii=False))
    assert json.loads(shown) == data
    assert hostile.acted_on(shown) == []
