"""What a step does, counted, on real processes: a cause in red verdicts, a notice in others, everywhere the same."""

import json
import xml.etree.ElementTree as ET

import pytest

WIDE = ("--dlbench-tolerance=step_time:40%", "--dlbench-tolerance=peak_rss:10%", "--dlbench-allow=invalid")
CAUSE = "2 graph breaks, before 0"
NOTICE = f"what a step does changed, in all runs: {CAUSE}; this fails no test"


def shown(suite, builder, monkeypatch):
    """Every text of a session in which the builder is compared with one without graph breaks, and its result."""
    summary = suite.path / "summary.md"
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(summary))
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    suite.write(builder="counted", more={"other": builder})
    files = ("--junitxml=junit.xml", "--dlbench-json=out.json", "--dlbench-html=out.html")
    result = suite.run("--dlbench-ab=numpy,other", *WIDE, *files)
    document = json.loads((suite.path / "out.json").read_text())
    return {
        "ret": result.ret,
        "terminal": result.stdout.str(),
        "junit": (suite.path / "junit.xml").read_text(),
        "page": (suite.path / "out.html").read_text(),
        "github": summary.read_text(),
        "result": document["cases"][0]["result"],
        "record": document["cases"][0]["record"],
    }


@pytest.fixture
def red(suite, monkeypatch):
    return shown(suite, "breaks_graphs_slowly", monkeypatch)


@pytest.fixture
def green(suite, monkeypatch):
    return shown(suite, "breaks_graphs", monkeypatch)


def test_a_regression_has_the_changed_count_as_a_cause_in_every_text(red):
    assert red["ret"] == 1
    assert red["result"]["outcome"] == "regressed"
    assert {where for where in ("terminal", "junit", "page", "github") if CAUSE in red[where]} == {
        *("terminal", "junit", "page", "github")
    }
    assert CAUSE in red["result"]["message"]
    (changed,) = [reason for reason in red["result"]["reasons"] if reason["kind"] == "counts_changed"]
    assert changed["changes"] == [{"metric": "graph_breaks", "baseline": 0.0, "candidate": 2.0}]
    assert ET.fromstring(red["junit"]).find(".//failure").text.count(CAUSE) == 1


def test_a_change_alone_is_a_notice_in_every_text_and_fails_nothing(green):
    assert green["ret"] == 0
    assert green["result"]["outcome"] != "regressed"
    assert NOTICE in green["result"]["warnings"]
    for where in ("terminal", "junit", "page", "github"):
        assert NOTICE in green[where], where


def test_a_record_has_the_counts_of_every_run_and_why_others_are_unknown(green):
    for run in green["record"]["runs"]:
        assert run["counts"].items() >= {"operations": 12, "graph_breaks": 2}.items()
        assert run["absent"]["allocated_bytes"] == "clocked counts no bytes"
        assert ("instructions" in run["counts"]) != ("instructions" in run["absent"])
        # Counted between two phases, so that no figure has it.
        assert "close" in run["usage"]
        assert "count" not in run["usage"]
    assert green["result"]["figures"]["graph_breaks"] == 2


def test_a_stored_baseline_is_compared_too(suite):
    suite.write(builder="counted")
    assert suite.run("--dlbench-save", "--dlbench-reason=first", *WIDE).ret == 0
    suite.write(builder="breaks_graphs")
    result = suite.run("--dlbench-compare", *WIDE)
    result.stdout.fnmatch_lines([f"*{CAUSE}*"])


def test_the_same_counts_are_no_news(suite):
    suite.write(builder="counted", more={"other": "counted"})
    result = suite.run("--dlbench-ab=numpy,other", *WIDE)
    assert result.ret == 0
    result.stdout.no_fnmatch_line("*what a step does*")
