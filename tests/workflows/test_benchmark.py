"""What is judged without a baseline, and what becomes of a case by it."""

import pytest

from pytest_dlbench.judging import METRICS, extended
from pytest_dlbench.records import CaseOutcome
from pytest_dlbench.reporting.explain import message
from pytest_dlbench.workflows.benchmark import with_absolute
from tests.doubles import records
from tests.doubles.absolute import LOST

KNOWN = extended(METRICS, [LOST])


def judged(*shares, tolerance=1.0, outcome=CaseOutcome.PASSED):
    """A case whose runs lost these shares of something; None for runs that do not have the metric."""
    runs = [
        records.run(seed, hooked={} if share is None else {"lost": share}) for seed, share in enumerate(shares, start=1)
    ]
    compared = records.case_result(outcome=outcome)
    return with_absolute(records.record(runs), compared, {"step_time": 0.05, "lost": tolerance}, KNOWN)


@pytest.mark.parametrize("outcome", [CaseOutcome.PASSED, CaseOutcome.NO_BASELINE, CaseOutcome.INCONCLUSIVE])
def test_an_absolute_metric_above_its_tolerance_is_regressed_whatever_the_baseline_shows(outcome):
    found = judged(0.09, 0.09, 0.09, outcome=outcome)
    assert (found.outcome, [one.metric for one in found.verdicts]) == (CaseOutcome.REGRESSED, ["lost"])
    lines = message(found, KNOWN).splitlines()
    assert lines[0] == "judged without a baseline:"
    assert lines[1].split()[:2] == ["lost", "regressed"]


def test_one_below_its_tolerance_changes_no_outcome():
    found = judged(0.0, 0.0, 0.0, outcome=CaseOutcome.NO_BASELINE)
    assert (found.outcome, found.reasons) == (CaseOutcome.NO_BASELINE, ())


def test_a_run_without_it_hides_nothing_of_the_others():
    assert judged(0.09, None, 0.09, 0.09).outcome is CaseOutcome.REGRESSED


def test_what_somebody_asked_for_and_too_few_runs_have_is_inconclusive():
    found = judged(0.09, None, 0.09)
    assert (found.outcome, found.verdicts) == (CaseOutcome.INCONCLUSIVE, ())
    assert message(found, KNOWN) == "not judged, because fewer than 3 runs show it: lost"
    assert judged(0.01, None, 0.09, tolerance=2.0).outcome is CaseOutcome.PASSED
    assert judged(None, None, None).outcome is CaseOutcome.PASSED


def test_what_too_few_runs_have_is_inconclusive_where_all_of_them_exceed_the_default():
    found = judged(0.09, None, 0.09, tolerance=2.0)
    assert (found.outcome, found.verdicts) == (CaseOutcome.INCONCLUSIVE, ())
    assert message(found, KNOWN) == "not judged, because fewer than 3 runs show it: lost"
