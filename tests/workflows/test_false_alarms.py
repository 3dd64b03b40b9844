"""The significance levels of a session's successive candidates."""

import pytest

from pytest_dlbench.judging.multiple_testing import part_of, places_in_turn, share_in_turn
from pytest_dlbench.workflows.false_alarms import FalseAlarmBudget


def levels(budget, test, count):
    next_level = budget.levels(test)
    return [next_level() for _ in range(count)]


def test_each_test_has_its_part_and_the_first_ones_more():
    budget = FalseAlarmBudget(share=0.01, tests=10)
    found = [budget.levels(name)() for name in "abcdefghij"]
    assert found == sorted(found, reverse=True)
    # Half of 0.25 %/10 and of 0.5 %/2; later ones at least half of 0.25 %/10.
    assert found[0] == pytest.approx(0.001375)
    assert min(found) > 0.000125


def test_the_flagged_metrics_of_a_test_share_its_part_in_turn():
    part = part_of(1, 10, 0.01)
    expected = [share_in_turn(place, part) for place in (1, 2, 3)]
    assert levels(FalseAlarmBudget(share=0.01, tests=10), "a", 3) == expected


def test_a_test_that_is_repeated_goes_on_with_its_own_part():
    budget = FalseAlarmBudget(share=0.01, tests=10)
    first, again = budget.levels("a")(), budget.levels("a")()
    part = part_of(1, 10, 0.01)
    assert (first, again) == (share_in_turn(1, part), share_in_turn(2, part))


def test_after_the_part_is_spent_there_is_no_level():
    found = levels(FalseAlarmBudget(share=0.01), "a", places_in_turn(part_of(1, 1, 0.01)) + 1)
    assert None not in found[:-1]
    assert found[-1] is None


@pytest.mark.parametrize(("tests", "workers"), [(1, 1), (8, 1), (500, 1), (5000, 1), (5000, 4)])
def test_a_session_never_spends_more_than_its_budget(tests, workers):
    spent = 0.0
    for _ in range(workers):
        budget = FalseAlarmBudget(share=0.01, tests=tests, workers=workers)
        names = range(tests // workers)
        spent += sum(level for name in names for level in levels(budget, str(name), 3) if level)
        spent += sum(budget.at_once(str(name)) for name in names for _ in range(2))
    assert 0 < spent <= 0.01 * (1 + 1e-9)


def test_a_single_slow_case_of_a_thousand_has_a_level():
    assert FalseAlarmBudget(share=0.01, tests=1000).levels("a")() > 0.001


def test_workers_divide_what_is_taken_in_turn():
    assert FalseAlarmBudget(share=0.01, tests=10, workers=2).levels("a")() == pytest.approx(0.01 / 80 + 0.01 / 16)


def test_only_the_first_case_of_a_test_may_be_decided_at_once():
    # Repeated attempts would spend it again.
    budget = FalseAlarmBudget(share=0.01, tests=10)
    assert [budget.at_once(name) for name in "aab"] == pytest.approx([0.00025, 0.0, 0.00025])
