"""An A/B of one case: what is screened, what is confirmed, and what that spends."""

from itertools import count

import pytest

from pytest_dlbench import pairing
from pytest_dlbench.judging.pairs import Pair
from pytest_dlbench.judging.sequential import Reason
from pytest_dlbench.records import VerdictOutcome
from tests.doubles import records

TERMS = pairing.Terms(tolerances={"step_time": 0.05, "step_time_median": 0.05, "accuracy": 1.0}, max_pairs=20)


def pairs_of(ratio):
    """Pairs of runs whose new side takes so many times as long."""
    for seed in count(1):
        yield Pair(old=records.run(seed), new=records.run(seed, step=0.01 * ratio))


def levels(*given):
    left = iter(given)
    return lambda: next(left, None)


def judged(ratio, *given, has_time=lambda: True):
    return pairing.judge(pairs_of(ratio).__next__, TERMS, has_time, levels(*given))


def outcomes(found):
    return {verdict.metric: verdict.outcome for verdict in found.verdicts}


def test_what_the_screening_clears_spends_nothing():
    found = judged(1.0, 0.005)
    assert set(outcomes(found).values()) == {VerdictOutcome.EQUIVALENT}
    assert (found.alpha, found.confirmed) == (0, [])


def test_each_candidate_takes_its_own_level():
    found = judged(1.2, 0.005, 0.0016)
    assert found.alpha == pytest.approx(0.0066)
    assert {name for name, outcome in outcomes(found).items() if outcome is VerdictOutcome.REGRESSED} == {
        "step_time",
        "step_time_median",
    }


def test_a_candidate_for_which_no_budget_is_left_is_inconclusive():
    found = judged(1.2, 0.005)
    assert outcomes(found)["step_time_median"] is VerdictOutcome.INCONCLUSIVE
    assert found.decisions["step_time_median"].reason is Reason.UNCONFIRMED


def test_without_time_nothing_of_the_budget_is_spent():
    clock = iter([True, True, False])
    found = judged(1.2, 0.005, 0.0016, has_time=lambda: next(clock))
    assert found.alpha == 0
    assert VerdictOutcome.REGRESSED not in outcomes(found).values()


def test_a_smaller_level_needs_no_fewer_pairs():
    found = [judged(1.12, level, level).decisions["step_time"].pairs for level in (0.005, 0.0005, 0.00005)]
    assert found == sorted(found)
