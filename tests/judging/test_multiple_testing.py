from math import log

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_dlbench.judging.multiple_testing import (
    CaseMetric,
    Standing,
    candidates,
    confirming,
    places_in_turn,
    screening,
    settled,
    share_in_turn,
)
from pytest_dlbench.judging.sequential import Reason, Rule, decide
from pytest_dlbench.records import VerdictOutcome

RULE = Rule(tolerance=log(1.05))
SPREAD = 0.01
SAME, WORSE, BETTER = ([value] * 3 for value in (0.0, 0.2, -0.2))
ABOVE, BELOW = ([value] * 10 for value in (0.049, 0.048))


def of(case, metric="step_time"):
    return CaseMetric(case=case, metric=metric)


def standing(differences):
    return Standing(rule=RULE, decision=decide(differences, SPREAD, RULE))


# Screening and confirming


def test_the_screening_has_few_pairs():
    assert (screening(RULE).alpha, screening(RULE).max_pairs) == (0.05, 10)


def test_the_screening_has_no_more_pairs_than_are_allowed():
    assert screening(Rule(tolerance=0.05, max_pairs=5)).max_pairs == 5


def test_what_regressed_is_a_candidate_and_what_is_undecided_and_looks_worse():
    screened = {
        of(name): standing(values) for name, values in zip("abcde", (SAME, WORSE, BETTER, ABOVE, BELOW), strict=True)
    }
    assert candidates(screened) == (of("b"), of("d"))


@pytest.mark.parametrize("differences", [[], [0.0, 0.0, float("nan")]])
def test_what_has_no_estimate_is_no_candidate(differences):
    assert candidates({of("a"): standing(differences)}) == ()


def test_the_metrics_of_a_case_are_candidates_apart():
    screened = {of("a", "step_time"): standing(SAME), of("a", "peak_rss"): standing(WORSE)}
    assert candidates(screened) == (of("a", "peak_rss"),)


def test_the_second_pass_does_not_give_up():
    assert not confirming(RULE, 3).gives_up


@given(st.integers(min_value=1, max_value=1000))
def test_all_candidates_together_spend_the_budget(count):
    assert confirming(RULE, count, budget=0.01).alpha * count == pytest.approx(0.01)


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


def test_more_candidates_than_the_levels_were_computed_for_are_refused():
    with pytest.raises(ValueError, match="expected a level"):
        confirming(RULE, 1001, budget=0.01)


def test_a_candidate_is_what_its_fresh_pairs_say():
    screened, confirmed = {of("a"): standing(WORSE)}, {of("a"): standing(SAME)}
    assert settled(screened, confirmed) == confirmed


def test_what_was_only_screened_never_regressed():
    found = settled({of("a"): standing(WORSE)}, {})[of("a")].decision
    assert (found.outcome, found.reason) == (VerdictOutcome.INCONCLUSIVE, Reason.UNCONFIRMED)


@pytest.mark.parametrize("differences", [SAME, BETTER, ABOVE, [0.0, float("nan")]])
def test_whatever_else_the_screening_said_stays(differences):
    found = standing(differences)
    assert repr(settled({of("a"): found}, {})) == repr({of("a"): found})


def test_every_metric_is_settled():
    screened = {of(name): standing(values) for name, values in zip("abc", (SAME, WORSE, ABOVE), strict=True)}
    assert settled(screened, {of("b"): standing(WORSE)}).keys() == screened.keys()
