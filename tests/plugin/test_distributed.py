"""pytest-xdist: several sessions, one measured worker at a time."""

import json
from datetime import datetime
from itertools import pairwise

import pytest

from pytest_dlbench.storing import Entry, read_journal


def test_two_workers_never_measure_at_once_and_all_results_are_collected(suite):
    suite.write(models=("softmax", "two-layers"), more={"other": "clocked"})
    result = suite.run("-n2", "--dlbench-runs=2", "--junitxml=junit.xml")
    result.assert_outcomes(passed=4)
    assert sum(line.endswith("no_baseline") for line in result.outlines[:-1]) == 4
    journals = list(suite.path.glob(".dlbench/*.jsonl"))
    assert len(journals) == 2
    result.stdout.fnmatch_lines(["journal: *"] * 2)
    runs = [entry.run for path in journals for entry in read_journal(path) if isinstance(entry, Entry) and entry.run]
    assert len(runs) == 8
    spans = sorted((datetime.fromisoformat(run.began).timestamp(), run.wall_seconds) for run in runs)
    # `began` is slightly before the worker starts, and is stored in milliseconds.
    assert all(began + seconds <= later + 0.002 for (began, seconds), (later, _) in pairwise(spans))
    assert (suite.path / "junit.xml").read_text().count("dlbench_outcome") == 4


# A process of pytest-xdist that ends in its second case, as if it were killed.
DIES = """
import os
from pytest_dlbench.storing import Journal
appended, results = Journal.append, []

def append(self, entry):
    appended(self, entry)
    results.extend([entry] if entry.result else [])
    if len(results) == 2 and os.environ.get("PYTEST_XDIST_WORKER") == "gw0":
        os._exit(1)

Journal.append = append
"""


def test_what_a_process_measured_before_it_died_is_in_all_files(suite):
    suite.write(models=("softmax", "two-layers", "three-layers"))
    (suite.path / "dies.py").write_text(DIES)
    result = suite.run("-p", "dies", "-n1", "--dlbench-runs=1", "--dlbench-json=session.json")
    assert result.ret == 1
    cases = json.loads((suite.path / "session.json").read_text())["cases"]
    assert sorted(case["result"]["case"]["model"] for case in cases) == ["softmax", "three-layers", "two-layers"]
    assert len(list(suite.path.glob(".dlbench/*.jsonl"))) == 2
    result.stdout.fnmatch_lines(["journal: *-gw0.jsonl", "journal: *-gw1.jsonl"])
    # The case that it was in has no verdict in the terminal's table: the session can be resumed.
    again = suite.run("--dlbench-resume", "--dlbench-runs=1")
    assert again.ret == 0
    again.stdout.fnmatch_lines(["resumed: the journal had 3 finished run*"])


def test_a_failure_in_a_worker_fails_the_session(suite):
    suite.saved_earlier()
    suite.write(builder="slowed")
    wide = ("--dlbench-tolerance=step_time:40%", "--dlbench-tolerance=peak_rss:10%")
    result = suite.run("-n1", *wide, "--dlbench-compare")
    assert result.ret == 1
    result.stdout.fnmatch_lines(["suspect: training-numpy-softmax-digits-cpu-smoke", "*step_time *suspect*"])


def test_a_tolerance_of_an_unknown_metric_fails_the_tests_of_workers(suite):
    result = suite.run("-n1", "--dlbench-tolerance=step_tme:5%")
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["--dlbench-tolerance: unknown metric 'step_tme'", "*did you mean 'step_time'*"])


def test_nothing_to_run_is_an_error_with_xdist_too(suite):
    result = suite.run("-n1", "--dlbench-models=gatech-lenet")
    assert result.ret == 4
    result.stdout.fnmatch_lines(["skipped: 1 × gatech-lenet takes 1×28×28, digits has 1×8×8", "ERROR: nothing *"])


def test_workers_share_the_budget_of_false_alarms(suite):
    suite.write(more={"slow": "slowed"})
    wide = ("--dlbench-tolerance=step_time:40%", "--dlbench-tolerance=peak_rss:10%", "--dlbench-allow=invalid")
    result = suite.run("-n2", "--dlbench-ab=numpy,slow", "--dlbench-budget=1h", *wide)
    # Half of the case's part: a quarter of the budget, and half of its worker's half of what is taken in turn.
    assert result.outlines[-1] == "dlbench: 1 regressed; false alarms: 0.19% of 1% used"


@pytest.mark.parametrize("processes", ["-n0", "-n2"])
def test_a_cluster_without_hosts_is_an_error_of_each_case_without_a_traceback(suite, monkeypatch, processes):
    suite.write(models=("softmax", "two-layers"))
    # Neither salloc nor srun is found.
    monkeypatch.setenv("PATH", "")
    result = suite.run(processes, "--dlbench-on=srun", "--dlbench-json=found.json")
    result.assert_outcomes(errors=2)
    said = "--dlbench-on srun: salloc is not installed: run pytest on a host that submits jobs to SLURM"
    assert result.outlines.count(said) == 2
    assert "Traceback" not in result.stdout.str() + result.stderr.str()
    result.stdout.fnmatch_lines(["ERROR: nothing was trained: no case could run, see the reasons above"])


def test_a_cluster_that_cannot_be_joined_ends_the_session_before_it_collects(suite, monkeypatch):
    monkeypatch.setenv("RAY_ADDRESS", "ray://head:10001")
    result = suite.run("-n1", "--dlbench-on=ray")
    assert result.ret == 4
    result.stderr.fnmatch_lines(["ERROR: --dlbench-on ray: RAY_ADDRESS=ray://head:10001 is an address of Ray Client*"])
