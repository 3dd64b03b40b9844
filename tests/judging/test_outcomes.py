from dataclasses import replace

import pytest

from pytest_dlbench.judging import SKIPPING, fails, of_runs, of_verdicts, with_validity
from pytest_dlbench.records import CaseOutcome, RunOutcome, VerdictOutcome
from tests.doubles import records

UNFINISHED = [outcome for outcome in RunOutcome if outcome is not RunOutcome.FINISHED]
MISSING = {RunOutcome.MISSING_FRAMEWORK, RunOutcome.MISSING_DATA}
BROKEN = {
    CaseOutcome.REGRESSED,
    CaseOutcome.DIVERGED,
    CaseOutcome.OUT_OF_MEMORY,
    CaseOutcome.TIMEOUT,
    CaseOutcome.CRASHED,
    CaseOutcome.BROKEN_PROTOCOL,
    CaseOutcome.WRONG_VERSION,
    CaseOutcome.FAILED,
    CaseOutcome.MACHINE_LOST,
    CaseOutcome.DAMAGED_BASELINE,
}
UNTOLD = {
    CaseOutcome.SUSPECT,
    CaseOutcome.NO_BASELINE,
    CaseOutcome.INCOMPARABLE,
    CaseOutcome.INCONCLUSIVE,
    CaseOutcome.SKIPPED,
    CaseOutcome.UNSUPPORTED,
    CaseOutcome.INVALID,
}


def failing(*, is_gate=False, is_strict=False, is_shadow=False, allowed=()):
    """The outcomes that fail a test."""
    return {
        outcome
        for outcome in CaseOutcome
        if fails(outcome, is_gate=is_gate, is_strict=is_strict, is_shadow=is_shadow, allowed=frozenset(allowed))
    }


def verdicts(*outcomes):
    return [records.verdict(outcome=outcome) for outcome in outcomes]


@pytest.mark.parametrize("outcome", UNFINISHED)
def test_every_way_not_to_finish_becomes_an_outcome_of_the_case(outcome):
    assert isinstance(of_runs([records.run(), records.unfinished(outcome)]), CaseOutcome)


@pytest.mark.parametrize("outcome", sorted(set(UNFINISHED) - MISSING))
def test_a_case_ends_as_its_run(outcome):
    assert of_runs([records.unfinished(outcome)]) == outcome.value


def test_a_case_with_an_invalid_run_does_not_pass():
    spoiled = [records.run(), replace(records.run(2), invalid=("others used 1.7 CPUs",))]
    assert with_validity(CaseOutcome.PASSED, spoiled) is CaseOutcome.INVALID
    assert with_validity(CaseOutcome.REGRESSED, spoiled) is CaseOutcome.REGRESSED
    assert with_validity(CaseOutcome.PASSED, [records.run()]) is CaseOutcome.PASSED


@pytest.mark.parametrize("outcome", sorted(MISSING))
def test_what_is_missing_skips_the_case(outcome):
    assert of_runs([records.unfinished(outcome)]) is CaseOutcome.SKIPPED


def test_the_first_run_that_did_not_finish_says_what_the_case_is():
    ended = [records.run(), records.unfinished(RunOutcome.TIMEOUT), records.unfinished(RunOutcome.CRASHED)]
    assert of_runs(ended) is CaseOutcome.TIMEOUT


def test_finished_runs_leave_the_outcome_open():
    assert of_runs(records.runs()) is None


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        ("equivalent equivalent", CaseOutcome.PASSED),
        ("equivalent improved", CaseOutcome.IMPROVED),
        ("improved inconclusive", CaseOutcome.INCONCLUSIVE),
        ("inconclusive suspect", CaseOutcome.SUSPECT),
        ("suspect regressed", CaseOutcome.REGRESSED),
        ("inconclusive improved regressed", CaseOutcome.REGRESSED),
        ("equivalent regressed", CaseOutcome.REGRESSED),
    ],
)
def test_the_worst_metric_says_what_the_case_is(found, expected):
    assert of_verdicts(verdicts(*map(VerdictOutcome, found.split()))) is expected


def test_the_order_of_the_metrics_does_not_matter():
    outcomes = [VerdictOutcome.REGRESSED, VerdictOutcome.IMPROVED, VerdictOutcome.INCONCLUSIVE]
    assert of_verdicts(verdicts(*outcomes)) is of_verdicts(verdicts(*outcomes[::-1]))


def test_without_a_gate_what_is_broken_or_worse_fails():
    assert failing() == BROKEN


def test_a_gate_also_fails_on_what_it_cannot_decide():
    assert failing(is_gate=True) == BROKEN | UNTOLD


def test_strict_also_fails_on_a_stale_baseline():
    assert failing(is_strict=True) == BROKEN | {CaseOutcome.IMPROVED}


def test_a_strict_gate_lets_nothing_pass_but_a_pass():
    assert failing(is_gate=True, is_strict=True) == set(CaseOutcome) - {CaseOutcome.PASSED}


def test_in_report_only_mode_only_what_is_broken_fails():
    assert failing(is_strict=True, is_shadow=True) == BROKEN - {CaseOutcome.REGRESSED}


@pytest.mark.parametrize("allowed", sorted(UNTOLD))
def test_a_gate_lets_pass_what_it_is_reported_to(allowed):
    assert failing(is_gate=True, allowed=[allowed]) == BROKEN | UNTOLD - {allowed}


@pytest.mark.parametrize("allowed", sorted(BROKEN))
def test_nothing_lets_a_broken_case_pass(allowed):
    assert allowed in failing(is_gate=True, allowed=[allowed])


@pytest.mark.parametrize("is_gate", [True, False])
@pytest.mark.parametrize("is_strict", [True, False])
def test_a_pass_never_fails(is_gate, is_strict):
    assert CaseOutcome.PASSED not in failing(is_gate=is_gate, is_strict=is_strict)


def test_what_could_not_run_is_a_skip_where_it_is_no_failure():
    assert {CaseOutcome.SKIPPED, CaseOutcome.UNSUPPORTED} == SKIPPING


def test_a_verdict_that_does_not_decide_leaves_the_outcome_to_the_others():
    alongside = records.verdict(outcome=VerdictOutcome.REGRESSED, decides=False)
    assert of_verdicts([*verdicts(VerdictOutcome.EQUIVALENT), alongside]) is CaseOutcome.PASSED
    assert of_verdicts([*verdicts(VerdictOutcome.REGRESSED), alongside]) is CaseOutcome.REGRESSED


def test_a_case_without_a_deciding_verdict_is_inconclusive():
    assert of_verdicts([records.verdict(outcome=VerdictOutcome.EQUIVALENT, decides=False)]) is CaseOutcome.INCONCLUSIVE
