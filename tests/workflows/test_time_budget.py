"""How the time of --dlbench-budget is divided, on a fake clock."""

import pytest

from pytest_dlbench.workflows.time_budget import TimeBudget


class Clock:
    def __init__(self):
        self.seconds = 1000.0

    def __call__(self):
        return self.seconds


@pytest.fixture
def clock():
    return Clock()


def spend(clock, has_time, step=1.0):
    """The seconds until a share is spent, in steps as long as a pair."""
    began = clock.seconds
    while has_time():
        clock.seconds += step
    return clock.seconds - began


def test_without_a_budget_there_is_always_time(clock):
    has_time = TimeBudget(tests=3, clock=clock).share("one")
    clock.seconds += 1e9
    assert has_time()


def test_cases_that_use_all_their_time_get_equal_shares(clock):
    budget = TimeBudget(seconds=60.0, tests=3, clock=clock)
    assert [spend(clock, budget.share(test)) for test in ("one", "two", "three")] == [20.0] * 3


def test_unused_time_goes_to_later_cases(clock):
    budget = TimeBudget(seconds=60.0, tests=3, clock=clock)
    budget.share("one")
    clock.seconds += 10.0
    assert [spend(clock, budget.share(test)) for test in ("two", "three")] == [25.0] * 2


def test_excess_time_is_taken_from_later_cases(clock):
    budget = TimeBudget(seconds=60.0, tests=3, clock=clock)
    assert spend(clock, budget.share("one"), step=30.0) == 30.0
    assert [spend(clock, budget.share(test)) for test in ("two", "three")] == [15.0] * 2


def test_after_the_time_is_spent_there_is_no_share(clock):
    budget = TimeBudget(seconds=60.0, tests=3, clock=clock)
    clock.seconds += 60.0
    assert not budget.share("one")()


def test_time_before_the_first_case_counts_against_the_budget(clock):
    budget = TimeBudget(seconds=60.0, tests=2, clock=clock)
    clock.seconds += 20.0
    assert spend(clock, budget.share("one")) == 20.0


def test_a_test_that_is_repeated_or_has_several_cases_counts_once(clock):
    budget = TimeBudget(seconds=60.0, tests=3, clock=clock)
    assert [spend(clock, budget.share(test)) for test in ("one", "one", "two")] == [20.0, 14.0, 13.0]


def test_an_uncounted_test_gets_all_the_time_left(clock):
    budget = TimeBudget(seconds=60.0, tests=1, clock=clock)
    budget.share("one")
    clock.seconds += 15.0
    assert spend(clock, budget.share("two")) == 45.0


def test_concurrent_workers_divide_the_time_by_their_own_tests(clock):
    budget = TimeBudget(seconds=60.0, tests=5, workers=2, clock=clock)
    assert [spend(clock, budget.share(test, places=2)) for test in ("one", "two", "three")] == [20.0] * 3


def test_workers_that_wait_for_each_other_share_the_time(clock):
    one, two = (TimeBudget(seconds=64.0, tests=4, workers=2, clock=clock) for _ in range(2))
    assert spend(clock, one.share("a", places=1)) == 16.0
    assert spend(clock, two.share("b", places=1)) == 12.0
    assert spend(clock, one.share("c", places=1)) == 18.0
