from math import log

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_dlbench.judging.many import (
    CaseMetric,
    Standing,
    candidates,
    confirming,
    most_informative,
    pairs_wanted,
    screening,
    settled,
)
from pytest_dlbench.judging.sequential import Reason, Rule, decide
from pytest_dlbench.records import VerdictOutcome

RULE = Rule(tolerance=log(1.05))
SPREAD = 0.01
SAME, WORSE, BETTER, NEAR = ([value] * 3 for value in (0.0, 0.2, -0.2, 0.048))


def of(case, metric="step_time"):
    return CaseMetric(case=case, metric=metric)


def decided(differences, rule=RULE):
    return decide(differences, SPREAD, rule)


def standing(differences):
    return Standing(rule=RULE, decision=decided(differences))


# Screening and confirming


def test_the_screening_has_few_pairs():
    assert (screening(RULE).alpha, screening(RULE).max_pairs) == (0.05, 10)


def test_the_screening_has_no_more_pairs_than_are_allowed():
    assert screening(Rule(tolerance=0.05, max_pairs=5)).max_pairs == 5


def test_what_is_not_cleared_is_a_candidate():
    screened = {of("a"): decided(SAME), of("b"): decided(WORSE), of("c"): decided(BETTER), of("d"): decided(NEAR * 4)}
    assert candidates(screened) == (of("b"), of("d"))


def test_the_metrics_of_a_case_are_candidates_apart():
    screened = {of("a", "step_time"): decided(SAME), of("a", "peak_rss"): decided(WORSE)}
    assert candidates(screened) == (of("a", "peak_rss"),)


@given(st.integers(min_value=1, max_value=1000))
def test_all_candidates_together_spend_the_budget(count):
    assert confirming(RULE, count, budget=0.01).alpha * count == pytest.approx(0.01)


def test_more_candidates_than_the_levels_were_computed_for_are_refused():
    with pytest.raises(ValueError, match="expected a level"):
        confirming(RULE, 1001, budget=0.01)


def test_a_candidate_is_what_its_fresh_pairs_say():
    screened, confirmed = {of("a"): decided(WORSE)}, {of("a"): decided(SAME)}
    assert settled(screened, confirmed)[of("a")].outcome is VerdictOutcome.EQUIVALENT


def test_what_was_only_screened_never_regressed():
    (found,) = settled({of("a"): decided(WORSE)}, {}).values()
    assert (found.outcome, found.reason) == (VerdictOutcome.INCONCLUSIVE, Reason.UNCONFIRMED)


def test_what_the_screening_left_open_keeps_its_reason():
    (found,) = settled({of("a"): decided([0.0, float("nan")])}, {}).values()
    assert found.reason is Reason.NOT_FINITE


def test_every_test_is_settled():
    screened = {of(name): decided(values) for name, values in zip("abc", (SAME, WORSE, NEAR), strict=True)}
    assert settled(screened, {of("b"): decided(WORSE)}).keys() == screened.keys()


# Who is next


def next_of(cases, seconds=None):
    standings = {case: [standing(values)] for case, values in cases.items()}
    return most_informative(standings, seconds or dict.fromkeys(cases, 1.0))


def test_a_case_of_which_nothing_is_known_goes_first():
    assert next_of({"known": NEAR, "new": []}) == "new"


def test_of_two_open_cases_that_nearer_to_a_verdict_is_next():
    assert next_of({"hard": [0.045] * 3, "easy": [0.035] * 3}) == "easy"


def test_a_slow_case_waits_for_a_quick_one():
    assert next_of({"slow": [0.04] * 3, "quick": [0.04] * 3}, {"slow": 60.0, "quick": 1.0}) == "quick"


def test_final_cases_want_no_more_pairs():
    assert next_of({"same": SAME, "worse": WORSE}) is None


def test_a_case_is_as_far_from_its_end_as_its_slowest_metric():
    cases = {"both": [standing([0.035] * 3), standing([0.045] * 3)], "one": [standing([0.04] * 3)]}
    assert most_informative(cases, {"both": 1.0, "one": 1.0}) == "one"


@given(st.lists(st.floats(min_value=-0.2, max_value=0.2), max_size=20))
def test_pairs_wanted_are_never_more_than_are_left(differences):
    wanted = pairs_wanted(RULE, decided(differences))
    assert 0 <= wanted <= 20 - decided(differences).pairs
    assert (wanted == 0) == decided(differences).is_final


def test_pairs_that_are_held_back_are_wanted_until_the_sixth():
    assert pairs_wanted(RULE, decided([0.0, 0.0, 0.2])) == 3
