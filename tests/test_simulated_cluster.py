"""A small cluster of simulated hosts: what tests/perf/simulated_cluster.py measures for 1,000 of them."""

import json

import pytest

from pytest_dlbench.records import Run, RunOutcome, codec
from tests.perf.simulated_cluster import Measured, measure

HOSTS, CASES, LOST_EVERY = 50, 400, 37


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("simulated")


@pytest.fixture(scope="module")
def found(folder) -> Measured:
    measured = measure(folder, hosts=HOSTS, cases=CASES, lost_every=LOST_EVERY, counts=True)
    assert measured.status == 0, measured.printed
    return measured


def test_a_case_takes_as_many_instructions_however_many_cases_were_before_it(found):
    # Those of the first part import modules.
    counted = [part.instructions for part in found.parts[2:]]
    assert max(counted) < 1.01 * min(counted)


def test_the_memory_of_the_driver_does_not_grow_faster_with_more_cases(found):
    half = len(found.parts) // 2
    grown = (found.parts[-1].rss_bytes - found.parts[half].rss_bytes) / (CASES / 2)
    assert grown < 24 * 2**10


def test_every_case_has_one_finished_run_whatever_hosts_are_lost(found, folder):
    (journal,) = folder.glob(".dlbench/*.jsonl")
    entries = [json.loads(line) for line in journal.read_text().splitlines()]
    runs = [codec.convert(entry["run"], Run, "") for entry in entries if entry.get("run")]
    finished = [run for run in runs if run.outcome is RunOutcome.FINISHED]
    lost = [run for run in runs if run.outcome is RunOutcome.MACHINE_LOST]
    assert len({run.case for run in finished}) == len(finished) == CASES
    assert len(lost) == (CASES + len(lost)) // LOST_EVERY
    assert {run.host for run in finished} == {f"host{number:04}" for number in range(1, HOSTS + 1)}
    made = {run.case: run.host for run in finished}
    assert all(run.host != made[run.case] for run in lost)
