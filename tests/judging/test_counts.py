"""Counts are compared exactly, where all runs of a side agree."""

from dataclasses import replace

import pytest

from pytest_dlbench.judging import METRICS, counts
from pytest_dlbench.judging.stored_baseline import session_of
from pytest_dlbench.records import CaseOutcome, CaseResult
from pytest_dlbench.records.reasons import CountChange, CountsChanged
from tests.doubles import records

BREAKS = CountChange(metric="graph_breaks", baseline=0, candidate=2)


def counted(*found):
    return [replace(run, counts=one) for run, one in zip(records.runs(), found, strict=False)]


def test_counts_on_which_all_runs_agree_are_those_of_a_side():
    runs = counted(*[{"operations": 7, "compilations": 1, "instructions": number} for number in (100, 101, 102)])
    assert counts.of_runs(runs, METRICS) == {"operations": 7, "compilations": 1}


def test_counts_that_differ_between_runs_say_nothing_about_the_code():
    runs = counted({"operations": 7, "graph_breaks": 0}, {"operations": 8, "graph_breaks": 0})
    assert counts.of_runs(runs, METRICS) == {"graph_breaks": 0}


def test_counts_that_one_run_lacks_are_none():
    assert counts.of_runs(counted({"operations": 7}, {}), METRICS) == {}
    assert counts.of_runs(counted({"operations": 7}, None), METRICS) == {}


def test_the_smallest_change_of_the_largest_count_is_one():
    old, new = {"operations": 10**15, "graph_breaks": 0}, {"operations": 10**15 + 1, "graph_breaks": 0}
    assert counts.changes(old, new) == (CountChange(metric="operations", baseline=10**15, candidate=10**15 + 1),)


def test_a_count_that_one_side_does_not_tell_is_not_compared():
    assert counts.changes({"operations": 1}, {"graph_breaks": 2}) == ()


def test_a_stored_session_has_the_counts_of_its_runs_to_the_last_digit():
    runs = counted(*[{"allocated_bytes": 123_456_789_123, "operations": number} for number in (1, 2, 2)])
    session = session_of(records.record(runs), name="s", saved="2026-11-21T02:14:05", reason="r", metrics=METRICS)
    assert counts.of_session(session, METRICS) == {"allocated_bytes": 123_456_789_123}


def result(outcome):
    return CaseResult(case=records.case(), outcome=outcome, runs=3, figures={})


@pytest.mark.parametrize("outcome", [CaseOutcome.REGRESSED, CaseOutcome.SUSPECT])
def test_a_change_is_a_reason_of_what_got_worse(outcome):
    found = counts.with_changes(result(outcome), [BREAKS])
    assert found.reasons == (CountsChanged(changes=(BREAKS,)),)
    assert found.cautions == ()


@pytest.mark.parametrize("outcome", [CaseOutcome.PASSED, CaseOutcome.IMPROVED, CaseOutcome.INCONCLUSIVE])
def test_a_change_is_a_notice_elsewhere_and_changes_no_outcome(outcome):
    found = counts.with_changes(result(outcome), [BREAKS])
    assert (found.outcome, found.reasons) == (outcome, ())
    assert found.cautions == (CountsChanged(changes=(BREAKS,)),)


def test_without_a_change_a_result_stays_as_it_is():
    found = result(CaseOutcome.REGRESSED)
    assert counts.with_changes(found, ()) is found
