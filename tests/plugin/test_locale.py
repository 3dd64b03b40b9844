"""A session in a locale that has only ASCII: real processes, every report."""

import json

import pytest


@pytest.fixture
def ascii_suite(suite, monkeypatch):
    for name, value in {"LC_ALL": "C", "LANG": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("PYTHONIOENCODING", raising=False)
    suite.has_own_process = True
    return suite


def test_a_session_writes_all_of_its_reports_in_ascii(ascii_suite):
    result = ascii_suite.run("--dlbench-runs=1", "--dlbench-json=s.json", "--dlbench-html=s.html", "--junitxml=s.xml")
    assert result.ret == 0
    result.stdout.fnmatch_lines(["json: *s.json", "report: *s.html"])
    assert json.loads((ascii_suite.path / "s.json").read_text("utf-8"))["cases"]
    assert "</html>" in (ascii_suite.path / "s.html").read_text("utf-8")


def test_a_comparison_with_a_baseline_is_printed_in_ascii(ascii_suite):
    ascii_suite.save("--dlbench-runs=3")
    ascii_suite.write(builder="slowed")
    result = ascii_suite.run("--dlbench-compare", "--dlbench-tolerance=step_time:40%")
    assert result.ret == 1
    assert "INTERNALERROR" not in result.stdout.str()
    result.stdout.fnmatch_lines(["suspect: training-numpy-*", "*step_time *suspect*"])
