import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_dlbench.judging.detectable import smallest_tolerance
from pytest_dlbench.judging.sequential import EQUIVALENT, REGRESSED, Rule, replay

SPREAD = 0.03
SESSIONS = 4000


def outcomes(change, tolerance, max_pairs, *, gives_up=False):
    random = np.random.default_rng(21)
    differences = random.normal(change, SPREAD, (SESSIONS, max_pairs))
    rule = Rule(tolerance=tolerance, max_pairs=max_pairs, gives_up=gives_up)
    return replay(differences, np.full(SESSIONS, SPREAD), rule).outcome


# 4,000 sessions are good to ±1.5 points at 90 % (three standard errors); looks before the last one only add.
@pytest.mark.parametrize("max_pairs", [5, 10, 20])
def test_no_change_is_called_equivalent_nine_times_in_ten(max_pairs):
    tolerance = smallest_tolerance(SPREAD, max_pairs=max_pairs)
    assert np.mean(outcomes(0.0, tolerance, max_pairs) == EQUIVALENT) >= 0.9 - 0.015


@pytest.mark.parametrize("max_pairs", [5, 10, 20])
def test_twice_the_tolerance_is_called_regressed_nine_times_in_ten(max_pairs):
    tolerance = smallest_tolerance(SPREAD, max_pairs=max_pairs)
    assert np.mean(outcomes(2 * tolerance, tolerance, max_pairs) == REGRESSED) >= 0.9 - 0.015


def test_half_of_it_is_too_little():
    tolerance = smallest_tolerance(SPREAD) / 2
    assert np.mean(outcomes(0.0, tolerance, 20) == EQUIVALENT) < 0.5


def test_giving_up_costs_a_few_percent():
    tolerance = smallest_tolerance(SPREAD)
    assert np.mean(outcomes(0.0, tolerance, 20, gives_up=True) == EQUIVALENT) >= 0.8


@given(st.floats(min_value=0.001, max_value=1), st.integers(min_value=3, max_value=19))
def test_more_pairs_tell_more(spread, pairs):
    assert smallest_tolerance(spread, max_pairs=pairs + 1) < smallest_tolerance(spread, max_pairs=pairs)
