"""Consecutive runs, found in journals."""

from dataclasses import replace

import pytest

from pytest_dlbench.records import RunOutcome
from pytest_dlbench.storing import Entry
from pytest_dlbench.storing.consecutive import consecutive
from pytest_dlbench.storing.journal import Journal
from tests.doubles import records

CASE = records.case().id


@pytest.fixture
def write(tmp_path):
    """Write a journal of runs, named so that later names are newer."""

    def call(name, runs, context=None):
        journal = Journal(tmp_path)
        journal.path = tmp_path / f"{name}.jsonl"
        for run in runs:
            journal.append(Entry(run=run, context=context or records.context()))
        return journal.path

    return call


def ten(step=0.01, **changes):
    return [records.run(seed, step=step, **changes) for seed in range(1, 11)]


def found(folder, exclude=None):
    exclude = exclude or folder / "now.jsonl"
    return consecutive(folder, CASE, records.context().__eq__, minimum=10, exclude=exclude)


def test_the_newest_journal_with_enough_runs_counts(write, tmp_path):
    write("20261118", ten(step=0.02))
    write("20261119", ten(step=0.03))
    write("20261120", ten(step=0.04)[:9])
    assert {run.training.step_seconds[0] for run in found(tmp_path)} == {0.03}


def test_a_session_is_not_its_own_reference(write, tmp_path):
    assert found(tmp_path, exclude=write("20261120", ten())) == ()


@pytest.mark.parametrize(
    "runs",
    [
        ten()[:9],
        ten(invalid=("others used 1.7 CPUs",)),
        ten(case="training-jax-mnist-cnn-digits28-cpu-quick"),
        [replace(run, outcome=RunOutcome.CRASHED) for run in ten()],
    ],
)
def test_too_few_invalid_unfinished_or_foreign_runs_are_skipped(write, tmp_path, runs):
    write("20261120", runs)
    assert found(tmp_path) == ()


def test_runs_of_another_machine_are_skipped(write, tmp_path):
    write("20261120", ten(), records.context(machine=records.machine(name="linux-abacus-1cores-1gib")))
    assert found(tmp_path) == ()


def test_without_journals_there_are_no_runs(tmp_path):
    assert found(tmp_path / "nowhere") == ()
