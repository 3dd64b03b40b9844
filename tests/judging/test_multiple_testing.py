"""Screening, confirmation, and the levels of successive candidates."""

from math import log, nan

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_dlbench.judging.multiple_testing import (
    confirming,
    is_flagged,
    places_in_turn,
    screening,
    share_in_turn,
)
from pytest_dlbench.judging.sequential import Rule, decide

RULE = Rule(tolerance=log(1.05), max_pairs=15)
SAME, WORSE, BETTER, OPEN = ([value] * 3 for value in (0.0, 0.2, -0.2, 0.049))


def test_the_screening_has_its_own_level_and_all_pairs():
    assert (screening(RULE).alpha, screening(RULE).max_pairs) == (0.05, 15)


@pytest.mark.parametrize(
    ("differences", "expected"), [(SAME, False), (WORSE, True), (BETTER, True), (OPEN, False), ([], False)]
)
def test_a_change_in_either_direction_must_be_confirmed(differences, expected):
    assert is_flagged(decide(differences, 0.01, screening(RULE))) is expected


def test_what_has_no_estimate_is_not_flagged():
    assert not is_flagged(decide([0.0, 0.0, nan], 0.01, screening(RULE)))


def test_a_confirmation_has_its_level():
    assert (confirming(RULE, 0.001).alpha, confirming(RULE, 0.001).max_pairs) == (0.001, 15)


@given(st.floats(min_value=0.0001, max_value=0.1))
def test_candidates_that_come_one_after_the_other_never_spend_more_than_the_budget(budget):
    levels = [share_in_turn(place, budget) for place in range(1, places_in_turn(budget) + 1)]
    assert sum(levels) <= budget * (1 + 1e-9)
    assert levels == sorted(levels, reverse=True)
    assert min(levels) >= 0.00001 * (1 - 1e-9)


def test_the_first_candidates_have_a_half_a_sixth_and_a_twelfth():
    assert [share_in_turn(place, 0.012) for place in (1, 2, 3)] == pytest.approx([0.006, 0.002, 0.001])


def test_a_budget_of_one_percent_is_good_for_sixty_candidates():
    assert places_in_turn(0.01) == 62


def test_a_budget_that_is_spent_says_so():
    with pytest.raises(ValueError, match="is spent by 62 candidates"):
        share_in_turn(63, 0.01)
