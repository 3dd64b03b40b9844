"""The significance levels of a session's successive candidates."""

from pytest_dlbench.judging.multiple_testing import places_in_turn, share_in_turn
from pytest_dlbench.workflows.false_alarms import FalseAlarmBudget


def test_each_candidate_gets_the_share_of_its_position():
    budget = FalseAlarmBudget(share=0.01)
    assert [budget.next_level() for _ in range(3)] == [share_in_turn(place, 0.01) for place in (1, 2, 3)]


def test_workers_divide_the_budget():
    assert FalseAlarmBudget(share=0.01, workers=2).next_level() == share_in_turn(1, 0.005)


def test_after_the_budget_is_spent_there_is_no_level():
    budget = FalseAlarmBudget(share=0.01)
    levels = [budget.next_level() for _ in range(places_in_turn(0.01) + 1)]
    assert None not in levels[:-1]
    assert levels[-1] is None
