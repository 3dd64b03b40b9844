"""Unfinished runs: a named outcome, never a traceback of the plugin, never a lost result."""

import json
import re
from xml.etree import ElementTree as ET

import pytest

from pytest_dlbench.sampling.cores import usable_cores
from pytest_dlbench.storing import Entry, read_journal


@pytest.mark.parametrize(
    ("builder", "line"),
    [
        ("diverges", "diverged: training-numpy-*"),
        ("asks_for_too_much", "out_of_memory: training-numpy-*"),
        ("crashes", "crashed: training-numpy-*"),
        ("raises", "failed: training-numpy-*"),
        ("skips_steps", "broken_protocol: training-numpy-*"),
    ],
)
def test_each_way_to_fail_has_an_outcome(suite, builder, line):
    suite.write(builder=builder)
    result = suite.run()
    assert result.ret == 1
    result.stdout.fnmatch_lines([line])
    result.stdout.no_fnmatch_line("*pytest_dlbench/*: in *")


def test_a_run_that_takes_too_long_is_terminated(suite):
    suite.write(builder="sleeps")
    result = suite.run("--dlbench-timeout=1.5")
    assert result.ret == 1
    result.stdout.fnmatch_lines(["timeout: training-numpy-*", "*--dlbench-timeout=SECONDS allows more"])


def test_a_framework_that_cannot_be_imported_is_skipped_with_what_is_missing(suite):
    suite.write(more={"absent": "lacks_its_framework"})
    result = suite.run("-rs")
    result.assert_outcomes(passed=1, skipped=1)
    result.stdout.fnmatch_lines(
        ["skipped: absent-softmax-digits-cpu", "*No module named 'a_framework_that_nobody_has'"]
    )


def test_a_layer_that_a_builder_lacks_is_skipped_as_unsupported(suite):
    suite.write(models=("softmax", "unknown-to-the-double"))
    result = suite.run("-rs")
    result.assert_outcomes(passed=1, skipped=1)
    result.stdout.fnmatch_lines(["unsupported: numpy-unknown-to-the-double-*", "*the builder of numpy has no conv2d"])


def test_a_matrix_in_which_no_case_can_run_is_an_error(suite):
    suite.write(builder="lacks_its_framework")
    result = suite.run()
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stdout.fnmatch_lines(["ERROR: nothing was trained*"])


def test_a_gate_fails_on_a_missing_framework(suite):
    suite.write(builder="lacks_its_framework")
    assert suite.run("--dlbench-compare").ret == 1


def test_a_failing_case_loses_no_result_of_the_others(suite):
    suite.write(more={"broken": "crashes"})
    suite.run("--dlbench-runs=2").assert_outcomes(passed=1, failed=1)
    (journal,) = suite.path.glob(".dlbench/*.jsonl")
    entries = [entry for entry in read_journal(journal) if isinstance(entry, Entry)]
    runs = [(entry.run.case, str(entry.run.outcome)) for entry in entries if entry.run]
    assert runs == [
        ("training-numpy-softmax-digits-cpu-smoke", "finished"),
        ("training-numpy-softmax-digits-cpu-smoke", "finished"),
        ("training-broken-softmax-digits-cpu-smoke", "crashed"),
    ]
    assert [str(entry.result.outcome) for entry in entries if entry.result] == ["no_baseline", "crashed"]


def test_a_test_can_assert_more_about_a_result(suite):
    suite.write(
        test="""
def test_more(dlbench):
    result = dlbench.train("numpy", "softmax", "digits")
    assert len(result.accuracy.values) == 3
    assert 0.5 < result.accuracy.mean <= 1
    assert abs(result.step_time.median - 0.002) < 1e-6
    assert result.throughput.mean > 0
    assert result.peak_rss.mean > 2**20
"""
    )
    suite.run().assert_outcomes(passed=1)


def test_a_hook_receives_finished_cases(suite):
    hook = """
def pytest_dlbench_case_finished(config, record, result):
    (config.rootpath / "hooked.txt").write_text(f"{result.case.id} {result.outcome} {len(record.runs)}")
"""
    suite.conftest += hook
    assert suite.run().ret == 0
    assert (suite.path / "hooked.txt").read_text() == "training-numpy-softmax-digits-cpu-smoke no_baseline 3"


def test_another_number_of_threads_is_another_case(suite):
    # One more than the number of cores, which is the default on every machine.
    threads = usable_cores() + 1
    suite.run(f"--dlbench-threads={threads}", "--dlbench-save", "--dlbench-reason=x")
    assert suite.baseline(f"training-numpy-softmax-digits-cpu-smoke-threads{threads}").is_file()


def test_a_single_run_has_no_verdict(suite):
    suite.write(
        test="""
def test_one(dlbench):
    run = dlbench.run("numpy", "softmax", "digits", steps=7, seed=5)
    assert run.seed == 5
    assert len(run.training.losses) == 7
    assert run.parameters == {"fc1.weight": (64, 10), "fc1.bias": (10,)}
"""
    )
    suite.run().assert_outcomes(passed=1)


def test_a_single_run_of_a_layer_that_a_builder_lacks_is_skipped(suite):
    suite.write(test="def test_one(dlbench):\n    dlbench.run('numpy', 'unknown-to-the-double', 'digits')\n")
    suite.run().assert_outcomes(skipped=1)


SEVERAL = """
def test_several(dlbench):
    dlbench.train("numpy", "softmax", "digits")
    dlbench.train("numpy", "two-layers", "digits")
"""


@pytest.mark.parametrize("processes", ["-n0", "-n1"])
def test_every_case_of_a_test_is_reported(suite, monkeypatch, processes):
    summary = suite.path / "summary.md"
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(summary))
    suite.write(test=SEVERAL)
    result = suite.run(processes, "--dlbench-runs=1")
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["numpy-softmax-digits-cpu *no_baseline", "numpy-two-layers-digits-cpu *no_baseline"])
    assert result.outlines[-1] == "dlbench: 2 no_baseline"
    assert all(f"numpy-{name}-digits-cpu" in summary.read_text() for name in ("softmax", "two-layers"))


def test_a_hook_that_raises_after_the_second_case_does_not_end_the_session(suite):
    suite.write(
        test=f"{SEVERAL}\ndef test_other(dlbench):\n    dlbench.train('numpy', 'softmax', 'digits', label='x')\n"
    )
    suite.conftest += """
def pytest_dlbench_case_finished(config, record, result):
    assert "two-layers" not in result.case.id, "the hook does not like it"
"""
    result = suite.run("--dlbench-runs=3", "--dlbench-save", "--dlbench-reason=first", "--dlbench-allow=invalid")
    result.assert_outcomes(failed=1, passed=1)
    result.stdout.fnmatch_lines(["*the hook does not like it*"])


def test_an_interrupted_session_counts_tests_however_many_cases_they_have(suite):
    suite.has_own_process = True
    suite.write(test=f"{SEVERAL}\ndef test_ended(dlbench):\n    raise KeyboardInterrupt\n")
    result = suite.run("--dlbench-runs=1")
    result.stdout.fnmatch_lines(["interrupted: 1 of 2 cases finished"])


def test_a_case_that_is_rerun_is_counted_once(suite):
    suite.write(builder="crashes")
    result = suite.run("--reruns=1", "--dlbench-runs=1")
    result.stdout.fnmatch_lines(["*1 failed, 1 rerun in *"])
    assert result.outlines[-1] == "dlbench: 1 crashed"


def test_a_report_only_gate_passes_cases_that_could_not_run(suite):
    suite.write(more={"absent": "lacks_its_framework"})
    gate = ("--dlbench-compare", "--dlbench-runs=1")
    suite.run(*gate).assert_outcomes(failed=2)
    suite.run(*gate, "--dlbench-shadow").assert_outcomes(passed=1, skipped=1)


@pytest.mark.parametrize(
    ("then", "outcome"),
    [
        ("", "no_baseline"),
        ("raise RuntimeError('my own doing')", "failed"),
        ("os.kill(os.getpid(), signal.SIGKILL)", "crashed"),
        ("os.symlink('/', folder)", "no_baseline"),
    ],
)
def test_a_worker_that_deletes_its_own_folder_has_an_outcome_and_a_journal(suite, monkeypatch, then, outcome):
    suite.write(builder="deletes_its_folder")
    variables = f"variables=(('THEN', {then!r}),), "
    suite.conftest = suite.conftest.replace("Framework(name=name", f"Framework({variables}name=name")
    result = suite.run("--dlbench-runs=1")
    assert result.outlines[-1] == f"dlbench: 1 {outcome}"
    result.stdout.no_fnmatch_line("*pytest_dlbench/*: in *")
    result.stdout.no_fnmatch_line("*INTERNALERROR*")
    (journal,) = suite.path.glob(".dlbench/*.jsonl")
    runs = [entry.run for entry in read_journal(journal) if isinstance(entry, Entry) and entry.run]
    assert [run.log for run in runs] == [("deleting my own folder",) if outcome in ("failed", "crashed") else ()]


ASSERTS = """
def test_first(dlbench):
    result = dlbench.train("numpy", "softmax", "digits")
    assert result.accuracy.mean > 2, "better than perfect"

def test_second(dlbench):
    dlbench.train("numpy", "two-layers", "digits")
"""


@pytest.mark.parametrize("option", [(), ("--dlbench-save", "--dlbench-reason=x"), ("-n1",)])
def test_a_test_that_fails_its_own_assertion_passed_nowhere(suite, option):
    suite.write(test=ASSERTS)
    result = suite.run("--junitxml=junit.xml", "--dlbench-json=found.json", "--dlbench-html=page.html", *option)
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(["numpy-softmax-digits-cpu * failed"])
    assert re.match("dlbench: (1 no_baseline, 1 failed|1 failed, 1 passed)(; |$)", result.outlines[-1])
    failing = ET.parse(suite.path / "junit.xml").find(".//testcase[@name='test_first']")
    found = [one.get("value") for one in failing.iter("property") if one.get("name") == "dlbench_outcome"]
    assert found == ["failed"]
    cases = json.loads((suite.path / "found.json").read_text())["cases"]
    (case,) = [one["result"] for one in cases if one["result"]["case"]["model"] == "softmax"]
    assert case["outcome"] == "failed"
    assert "the test failed after the measurement: AssertionError: better than perfect" in case["message"]
    assert "Failed: 1 failed" in (suite.path / "page.html").read_text()


def test_a_test_that_fails_before_it_measures_is_counted(suite):
    suite.write(test=ASSERTS.replace("    result =", "    assert False\n    result ="))
    result = suite.run()
    result.assert_outcomes(passed=1, failed=1)
    assert result.outlines[-1] == "dlbench: 1 no_baseline, 1 failed without a result"


def test_an_outcome_that_fails_its_test_stays_what_it_is(suite):
    suite.write(builder="diverges", test=ASSERTS)
    result = suite.run()
    assert result.outlines[-1] == "dlbench: 2 diverged"
