import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_dlbench.judging.metrics import METRICS
from pytest_dlbench.judging.multiple_testing import screening
from pytest_dlbench.judging.power import (
    as_given,
    smallest_of_repeated,
    smallest_of_runs,
    smallest_of_sessions,
    smallest_tolerance,
)
from pytest_dlbench.judging.scales import badness, smallest_spread
from pytest_dlbench.judging.sequential import EQUIVALENT, REGRESSED, Rule, replay
from pytest_dlbench.judging.sessions import SessionFigure, SessionSpread, against_sessions, prediction
from pytest_dlbench.judging.verdicts import of_runs
from pytest_dlbench.records import VerdictOutcome

# The first one loads SciPy.
law = settings(deadline=None)
SPREAD = 0.03
SESSIONS = 4000


def outcomes(change, tolerance, max_pairs):
    random = np.random.default_rng(21)
    differences = random.normal(change, SPREAD, (SESSIONS, max_pairs))
    rule = screening(Rule(tolerance=tolerance, max_pairs=max_pairs))
    return replay(differences, np.full(SESSIONS, SPREAD), rule).outcome


# 4,000 sessions are good to ±1.5 points at 90 % (three standard errors); looks before the last one only add.
@pytest.mark.parametrize("max_pairs", [5, 10, 20])
def test_the_screening_that_ships_clears_no_change_nine_times_in_ten(max_pairs):
    tolerance = smallest_tolerance(SPREAD, max_pairs=max_pairs)
    assert np.mean(outcomes(0.0, tolerance, max_pairs) == EQUIVALENT) >= 0.9 - 0.015


@pytest.mark.parametrize("max_pairs", [5, 10, 20])
def test_twice_the_tolerance_is_called_regressed_nine_times_in_ten(max_pairs):
    tolerance = smallest_tolerance(SPREAD, max_pairs=max_pairs)
    assert np.mean(outcomes(2 * tolerance, tolerance, max_pairs) == REGRESSED) >= 0.9 - 0.015


def test_half_of_it_is_too_little():
    tolerance = smallest_tolerance(SPREAD) / 2
    assert np.mean(outcomes(0.0, tolerance, 20) == EQUIVALENT) < 0.5


@law
@given(st.floats(min_value=0.001, max_value=1), st.integers(min_value=3, max_value=19))
def test_more_pairs_detect_more(spread, pairs):
    assert smallest_tolerance(spread, max_pairs=pairs + 1) < smallest_tolerance(spread, max_pairs=pairs)


# A stored baseline

FIVE = (-0.01, 0.01, 0.0, -0.01, 0.01)


def sessions(values):
    return [SessionFigure(value=value) for value in values]


def test_five_sessions_one_percent_apart_keep_four_percent():
    # sd 1 %, so that one more session lies √(1 + 1/5) % away; t(0.95, 4) and the 95 % quantile of the normal.
    found = smallest_of_sessions(sessions(FIVE), SessionSpread(assumed=0.5, smallest=0.003))
    assert found == pytest.approx(0.01 * 1.2**0.5 * (2.13185 + 1.64485), rel=1e-5)


@law
@given(st.lists(st.floats(min_value=-0.1, max_value=0.1), min_size=1, max_size=10))
def test_at_that_tolerance_a_session_is_cleared_as_far_as_nine_in_ten_lie(values):
    stored, spread = sessions(values), SessionSpread(assumed=0.02, smallest=0.003)
    tolerance, expected = smallest_of_sessions(stored, spread), prediction(stored, spread)

    def outcome(errors):
        new = SessionFigure(value=expected.centre + errors * expected.error)
        return against_sessions(stored, new, spread=spread, tolerance=tolerance).outcome

    assert outcome(1.64) is outcome(-1.64) is VerdictOutcome.EQUIVALENT
    assert outcome(1.65) is outcome(-1.65) is VerdictOutcome.INCONCLUSIVE


# Runs with stored runs


def expected_outcome(name, stored, errors, tolerance):
    """Three runs at this many standard errors from the stored ones, with the same spread."""
    metric = METRICS[name]
    values = np.array([badness(metric, value) for value in stored])
    variance = max(values.var(ddof=1), smallest_spread(metric) ** 2)
    centre = values.mean() + errors * np.sqrt(variance * (1 / len(values) + 1 / 3))
    bad = centre + np.sqrt(variance) * np.array([-1, 0, 1])
    new = np.exp(bad) if metric.kind == "ratio" else -bad / 100
    old = {seed: (value,) for seed, value in enumerate(stored)}
    return of_runs(metric, old, dict(enumerate(new, start=len(old))), as_given(metric, tolerance)).outcome


def seeds(stored):
    return [(value,) for value in stored]


@law
@given(st.lists(st.floats(min_value=0.9, max_value=1.0), min_size=2, max_size=12))
def test_memory_is_cleared_at_its_least_tolerance_as_far_as_nine_in_ten_sessions_lie(stored):
    least = smallest_of_runs(METRICS["peak_rss"], seeds(stored), 3)
    assert expected_outcome("peak_rss", stored, 1.64, least) is VerdictOutcome.EQUIVALENT
    assert expected_outcome("peak_rss", stored, -1.64, least) is VerdictOutcome.EQUIVALENT
    assert expected_outcome("peak_rss", stored, 1.65, least) is VerdictOutcome.INCONCLUSIVE


@pytest.mark.parametrize("stored", [(0.95, 0.95, 0.95), (0.951, 0.95, 0.95, 0.95, 0.95, 0.949)])
def test_accuracy_is_cleared_at_its_least_tolerance_as_far_as_nine_in_ten_sessions_lie(stored):
    least = smallest_of_runs(METRICS["accuracy"], seeds(stored), 3)
    assert expected_outcome("accuracy", stored, 1.28, least) is VerdictOutcome.EQUIVALENT
    assert expected_outcome("accuracy", stored, 1.29, least) is VerdictOutcome.INCONCLUSIVE


def test_the_same_figures_again_are_cleared_at_less_whatever_the_spread_of_seeds():
    stored = {1: 0.90, 2: 0.95, 3: 0.99}
    least = smallest_of_repeated(METRICS["accuracy"], 3)
    assert least < smallest_of_runs(METRICS["accuracy"], seeds(stored.values()), 3)
    again = [
        of_runs(METRICS["accuracy"], {seed: (value,) for seed, value in stored.items()}, stored, least + change).outcome
        for change in (0.001, -0.001)
    ]
    assert again == [VerdictOutcome.EQUIVALENT, VerdictOutcome.INCONCLUSIVE]


@law
@given(st.integers(min_value=1, max_value=20))
def test_more_runs_keep_less(runs):
    least = [smallest_of_runs(METRICS["peak_rss"], seeds((1.0, 1.01, 0.99)), count) for count in (runs, runs + 1)]
    assert least[1] < least[0]
