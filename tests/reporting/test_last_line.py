"""The last line of a session."""

import pytest

from pytest_dlbench.records import CaseOutcome, Pairing
from pytest_dlbench.reporting import last_line
from tests.doubles import records


def paired(alpha, **changes):
    pairing = Pairing(old=records.case(), screened=3, confirmed=3, alpha=alpha, new_first=(True,), reasons={})
    return records.case_result(pairing=pairing, verdicts=(records.verdict(),), **changes)


def test_outcomes_are_counted_with_the_worst_first():
    outcomes = (CaseOutcome.PASSED, CaseOutcome.INCONCLUSIVE, CaseOutcome.PASSED, CaseOutcome.REGRESSED)
    results = [records.case_result(outcome=outcome) for outcome in outcomes]
    assert last_line.line(results, 0.01) == "dlbench: 1 regressed, 1 inconclusive, 2 passed"


def test_the_false_alarm_shares_of_pairs_add_up():
    assert last_line.line([paired(0.005), paired(0.0), paired(0.0017)], 0.01).endswith("false alarms: 0.67% of 1% used")


def test_a_repeated_attempt_is_not_a_case_but_uses_its_share_of_the_budget():
    found = last_line.line([paired(0.0017)], 0.01, [paired(0.005)])
    assert found == "dlbench: 1 passed; false alarms: 0.67% of 1% used"


@pytest.mark.parametrize("number", [1, 3])
def test_metrics_compared_with_baselines_do_not_count_towards_the_budget(number):
    stored = records.case_result(verdicts=(records.verdict(),) * number)
    assert last_line.line([stored, paired(0.005)], 0.01).endswith(
        f"0.5% of 1% used; {number} metrics compared with baselines (false alarms ≤ 5% each)"
    )
