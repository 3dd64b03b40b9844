"""The files that a session writes."""

import json
from pathlib import Path

import jsonschema

from pytest_dlbench.cli.main import main
from pytest_dlbench.reporting.exports.document import published_schema
from pytest_dlbench.storing.history import History


def document(path):
    content = json.loads(path.read_text())
    jsonschema.validate(content, json.loads(published_schema()))
    return content


def test_a_session_is_written_as_json_that_conforms_to_the_schema(suite):
    result = suite.run("--dlbench-json=session.json")
    result.stdout.fnmatch_lines([f"json: {suite.path / 'session.json'}"])
    (case,) = document(suite.path / "session.json")["cases"]
    assert case["result"]["outcome"] == "no_baseline"
    assert [run["seed"] for run in case["record"]["runs"]] == [1, 2, 3]
    assert case["record"]["recipe"]["batch_size"] == 32


def test_with_xdist_the_file_has_the_cases_of_all_workers(suite):
    suite.write(models=("softmax", "two-layers"))
    suite.run("-n2", "--dlbench-json=session.json", "--dlbench-runs=1")
    cases = document(suite.path / "session.json")["cases"]
    assert {case["record"]["case"]["model"] for case in cases} == {"softmax", "two-layers"}


def test_a_session_is_added_to_the_history_with_one_row_per_run(suite):
    result = suite.run("--dlbench-history=history")
    result.stdout.fnmatch_lines([f"history: {suite.path / 'history'}/machine_class=*/date=*/*.parquet"])
    rows = History(address=str(suite.path / "history")).read().rows
    assert list(rows["seed"]) == [1, 2, 3]
    assert set(rows["case_outcome"]) == {"no_baseline"}


def test_a_session_in_the_history_is_not_added_again_from_its_journal(suite, monkeypatch):
    suite.run("--dlbench-history=history")
    monkeypatch.chdir(suite.path)
    assert main(["history", "--add", *map(str, Path(".dlbench").glob("*.jsonl"))]) == 0
    assert len(list(Path("history").rglob("*.parquet"))) == 1
    assert list(History(address="history").read().rows["seed"]) == [1, 2, 3]


def test_a_file_that_cannot_be_written_fails_the_session_but_no_other_file(suite):
    (suite.path / "taken").write_text("a file, no folder")
    result = suite.run("--dlbench-runs=1", "--dlbench-json=taken/session.json", "--dlbench-history=history")
    assert result.ret == 1
    result.stdout.fnmatch_lines(["history: *", "ERROR: json not written: *; the journal has all results"])


FAILING = "def test_it(dlbench):\n    dlbench.train('numpy', 'softmax', 'digits')\n    assert False, 'not good'\n"


def test_on_github_the_summary_and_annotations_of_failed_tests_are_written(suite, monkeypatch):
    suite.write(test=FAILING)
    summary = suite.path / "summary.md"
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    monkeypatch.setenv("GITHUB_WORKSPACE", str(suite.path.parent))
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(summary))
    result = suite.run("--dlbench-runs=1")
    place = f"file={suite.path.name}/test_suite.py,line=1,title=test_suite.py%3A%3Atest_it"
    result.stdout.fnmatch_lines([f"::error {place}::*%0A*AssertionError: not good*"])
    assert summary.read_text().startswith("## dlbench: 1 failed\n")


def test_outside_github_no_annotation_is_printed(suite):
    suite.write(test="def test_it(dlbench):\n    assert False\n")
    suite.run().stdout.no_fnmatch_line("*::error*")


def test_without_a_terminal_everything_is_written_and_nothing_printed(suite):
    result = suite.run("-p", "no:terminal", "--dlbench-runs=1", "--dlbench-json=session.json")
    assert (result.ret, result.outlines, result.errlines) == (0, [], [])
    assert len(document(suite.path / "session.json")["cases"]) == 1


def test_without_a_terminal_a_file_that_cannot_be_written_is_an_error(suite):
    (suite.path / "taken").write_text("a file, no folder")
    result = suite.run("-p", "no:terminal", "--dlbench-runs=1", "--dlbench-json=taken/session.json")
    assert result.ret == 1
    result.stderr.fnmatch_lines(["dlbench: json not written: *; the journal has all results"])


def test_without_a_terminal_the_cases_of_all_workers_of_xdist_are_written(suite):
    suite.write(models=("softmax", "two-layers"))
    result = suite.run("-p", "no:terminal", "-n2", "--dlbench-runs=1", "--dlbench-json=session.json")
    assert (result.ret, result.outlines, result.errlines) == (0, [], [])
    cases = document(suite.path / "session.json")["cases"]
    assert {case["record"]["case"]["model"] for case in cases} == {"softmax", "two-layers"}


def test_without_a_terminal_a_failure_in_a_worker_of_xdist_is_an_exit_status(suite):
    suite.write(builder="raises")
    result = suite.run("-p", "no:terminal", "--dlbench-runs=1", "-n1")
    assert (result.ret, result.outlines, result.errlines) == (1, [], [])


def test_without_a_terminal_a_matrix_with_nothing_to_run_is_an_error(suite):
    result = suite.run("-p", "no:terminal", "--dlbench-models=gatech-lenet")
    assert (result.ret, result.outlines) == (4, [])
    assert result.errlines == ["dlbench: nothing was trained: no case could run"]
