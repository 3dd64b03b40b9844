"""Kernels of recurrent layers, on real processes: in records, tables and exports, and where two sides differ."""

import json

import pytest

from pytest_dlbench.cli.main import main
from pytest_dlbench.reporting.exports.rows import rows
from pytest_dlbench.storing.recorded import read

WIDE = ("--dlbench-tolerance=step_time:40%", "--dlbench-tolerance=peak_rss:10%", "--dlbench-allow=invalid")
CHANGE = "each_step (loop), before whole_sequence (fused)"
MODEL = """
from pytest_dlbench.model import LSTM, Embedding

def pytest_dlbench_models():
    return [Model(name="recurrent", family="rnn", input_shape=(6,), vocabulary=20, head=HEAD, recipe=RECIPE,
                  layers=(Embedding(20, 4), LSTM(5), Dense(10)))]
"""


@pytest.fixture
def recurrent(suite):
    """Writes a suite whose model has a recurrent layer."""

    def write(**asked):
        suite.write(models=["recurrent"], **asked)
        suite.conftest = suite.conftest.replace('params=["digits"]', 'params=["synthetic"]') + MODEL
        return suite

    return write


def compared(suite, *arguments):
    """The outcome and everything that a session says about its case."""
    result = suite.run(*arguments, *WIDE, "--dlbench-json=out.json")
    document = json.loads((suite.path / "out.json").read_text())
    return result, document["cases"][0]


def test_a_regression_has_other_kernels_as_a_cause_everywhere(recurrent):
    suite = recurrent(builder="computes_recurrent", more={"other": "loops_recurrent_slowly"})
    result, case = compared(suite, "--dlbench-ab=numpy,other")
    assert (result.ret, case["result"]["outcome"]) == (1, "regressed"), result.stdout.str()
    (reason,) = [reason for reason in case["result"]["reasons"] if reason["kind"] == "kernels_changed"]
    assert (reason["baseline"], reason["candidate"]) == ({"whole_sequence": "fused"}, {"each_step": "loop"})
    assert CHANGE in case["result"]["message"]
    assert CHANGE in result.stdout.str()


def test_a_stored_baseline_is_compared_too_and_a_change_alone_fails_nothing(recurrent):
    suite = recurrent(builder="computes_recurrent")
    assert suite.run("--dlbench-save", "--dlbench-reason=first", *WIDE).ret == 0
    result, case = compared(recurrent(builder="loops_recurrent"), "--dlbench-compare")
    notice = f"recurrent layers are computed by other kernels: {CHANGE}; this fails no test"
    assert result.ret == 0, result.stdout.str()
    assert notice in case["result"]["warnings"]
    result.stdout.fnmatch_lines([f"*{notice}*"])


def test_records_tables_and_exports_have_the_kernels_and_no_figure_of_a_run_has_the_search(recurrent, capsys):
    suite = recurrent(builder="computes_recurrent")
    result, case = compared(suite)
    assert case["result"]["recurrent_kernels"] == {"whole_sequence": "fused"}
    for run in case["record"]["runs"]:
        assert run["recurrent_kernels"] == {"whole_sequence": "fused"}
        assert "recurrent_kernels" not in run["usage"]
    result.stdout.fnmatch_lines(["*recurrent layers*", "*fused*"])
    found = read([suite.path / "out.json"]).cases
    assert {row["recurrent_kernels"] for row in rows(found)} == {"whole_sequence (fused)"}
    assert main(["runs", "show", "recurrent", "--records", str(suite.path / "out.json")]) == 0
    assert "  recurrent layers: whole_sequence (fused)\n" in capsys.readouterr().out
