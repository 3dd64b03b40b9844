"""Data sets that are not available: their cases are skipped with the command that fetches them."""

import os
from pathlib import Path

import pytest

from tests.doubles import official_files as official


@pytest.fixture
def bare(suite, tmp_path, monkeypatch):
    """A suite of one model that fits MNIST, and a cache without any files."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "bare"))
    suite.conftest = suite.conftest.replace("(1, 8, 8)", "(1, 28, 28)").replace('"digits"', '"mnist"')
    return suite


def test_cases_of_a_named_data_set_are_skipped_with_the_command_that_fetches_it(bare):
    result = bare.run("--dlbench-datasets=mnist,digits28", "-rs")
    result.assert_outcomes(passed=1, skipped=1)
    result.stdout.fnmatch_lines(
        [
            "skipped: numpy-softmax-mnist-cpu",
            "*the files of mnist are not available",
            "*to get it: dlbench data fetch mnist",
            "*or: dlbench data import mnist PATH",
        ]
    )


def test_a_gate_fails_on_missing_data(bare):
    assert bare.run("--dlbench-datasets=mnist,digits28", "--dlbench-compare").ret == 1


def test_cells_of_an_unnamed_data_set_are_skipped_with_the_command_that_fetches_it(bare):
    result = bare.run("-v")
    result.stdout.fnmatch_lines(["skipped: 1 × mnist is not available: dlbench data fetch mnist"])


def test_data_that_cannot_be_prepared_fail_their_case_with_the_reason_once(bare):
    files = Path(os.environ["XDG_CACHE_HOME"]) / "pytest-dlbench/data/files"
    official.write(files / "mnist", dict.fromkeys(official.mnist(), b"no images"))
    (files / "mnist.json").write_text('{"source": "mnist", "known_by": [], "contents": {}}')
    result = bare.run("--dlbench-datasets=mnist")
    result.assert_outcomes(failed=1)
    failures = result.stdout.str().partition("= FAILURES =")[2].partition("= dlbench =")[0]
    assert failures.count("begins with") == failures.count("to get mnist again: dlbench data fetch mnist --again") == 1


def test_a_single_run_on_missing_data_is_skipped(bare):
    bare.write(test="def test_one(dlbench):\n    dlbench.run('numpy', 'gatech-lenet', 'mnist')\n")
    bare.run().assert_outcomes(skipped=1)


def test_synthetic_data_are_used_only_if_named(bare):
    bare.run("--dlbench-datasets=synthetic").assert_outcomes(passed=1)
