"""Data-parallel workers as an axis of a session."""

import pytest

PARALLEL = ("--dlbench-frameworks=parallel", "--dlbench-threads=1")


@pytest.fixture(autouse=True)
def parallel(suite):
    """A framework whose workers exchange gradients."""
    suite.write(more={"parallel": "numpy_workers"})


def test_workers_are_an_axis_with_a_table_of_their_speed_up(suite):
    result = suite.run(*PARALLEL, "--dlbench-workers=1,2", "--dlbench-runs=1")
    result.assert_outcomes(passed=2)
    result.stdout.fnmatch_lines(
        [
            "workers: softmax on digits, cpu, 1 thread each, scale smoke",
            "framework  workers  samples/s  speed-up *efficiency *exchange  exchanged/step *",
            "parallel *1 *1.00 *",
            "parallel *2 *%*MiB*",
        ]
    )


def test_the_mark_selects_them(suite):
    result = suite.run(*PARALLEL, "--dlbench-workers=1,2", "-m", "multi_device", "--collect-only", "-q")
    result.stdout.fnmatch_lines(["*parallel-softmax-digits-cpu-workers2*", "*1/2 tests collected*"])


def test_frameworks_without_exchange_are_unsupported_with_the_reason(suite):
    result = suite.run("--dlbench-frameworks=numpy", "--dlbench-workers=2", "--dlbench-threads=1")
    result.assert_outcomes(skipped=1)
    result.stdout.fnmatch_lines(["*unsupported*the builder of numpy has no module parallel*"])


def test_pairs_of_workers_are_run_one_after_the_other(suite):
    sides = ("--dlbench-ab=parallel,parallel", "--dlbench-workers=2", "--dlbench-threads=1")
    result = suite.run(*sides, "--dlbench-max-runs=3")
    result.stdout.fnmatch_lines(["*pair 1 of 3: *workers2 (baseline, parallel): *"])
    result.stdout.no_fnmatch_line("*both sides, step by step*")


def test_a_baseline_of_workers_is_their_own(suite):
    suite.save(*PARALLEL, "--dlbench-workers=2")
    assert suite.baseline("training-parallel-softmax-digits-cpu-smoke-threads1-workers2").is_file()
    result = suite.run(*PARALLEL, "--dlbench-workers=1,2")
    result.stdout.fnmatch_lines(["dlbench: *1 no_baseline*"])
