"""The comparison with other tools: its summary, and the table of the page."""

import re
from dataclasses import replace
from pathlib import Path

import msgspec

from tests.characteristics.tools import Comparison, read, summary

ROOT = Path(__file__).parents[1]
ONE = Comparison(
    tool="pytest-dlbench",
    planted=0.05,
    neighbours=0,
    regressed=True,
    undecided=False,
    ratio=1.05,
    seconds=15.6,
    budget_seconds=16,
    load=0.5,
)


def test_each_tool_and_kind_of_commit_is_a_line_of_the_table(tmp_path):
    ran = [
        ONE,
        replace(ONE, regressed=False, undecided=True, ratio=1.03, load=2.25, seconds=18.2),
        replace(ONE, tool="asv continuous", ratio=None),
        replace(ONE, planted=0.0, regressed=False, ratio=0.998),
    ]
    file = tmp_path / "tools.jsonl"
    file.write_bytes(b"\n".join(map(msgspec.json.encode, ran)))
    assert list(summary(read([file]))) == [
        "| unchanged | pytest-dlbench | 0 of 1 | 0 | 0.998 (0.998 to 0.998) | 16 | 0.5 to 0.5 |",
        "| +5 % | asv continuous | 1 of 1 | – | – | 16 | 0.5 to 0.5 |",
        "| +5 % | pytest-dlbench | 1 of 2 | 1 | 1.040 (1.030 to 1.050) | 17 | 0.5 to 2.2 |",
    ]


def test_the_table_on_the_page_is_the_summary_of_the_results_that_are_kept():
    page = (ROOT / "docs" / "explanation" / "error-rates.md").read_text("utf-8")
    section = page.partition("## Other tools on the same commits")[2]
    shown = re.findall(r"^\| (?:unchanged|\+).*\|$", section, re.MULTILINE)
    kept = sorted((ROOT / "tests" / "characteristics").glob("tools*.jsonl"))
    assert shown == list(summary(read(kept)))
