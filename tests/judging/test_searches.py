"""The curve of a search, and intervals over seeds."""

import pytest

from pytest_dlbench.judging.searches import best_until, over_seeds
from pytest_dlbench.records import RunOutcome, Search, Trial
from pytest_dlbench.records.searches import curve_of


def trial(total, accuracy, outcome="finished"):
    return Trial(
        case="trial",
        settings={},
        outcome=outcome,
        run_outcome=RunOutcome.FINISHED,
        cpu_seconds=1.0,
        wall_seconds=1.0,
        cpu_total=total,
        wall_total=total,
        accuracy=accuracy,
    )


TRIALS = (trial(1.0, 0.5), trial(2.0, 0.4), trial(3.0, None, "failed"), trial(4.0, 0.7), trial(5.0, 0.9, "over_budget"))
SEARCH = Search(
    engine="random",
    space="small",
    budget_seconds=4.5,
    trials=TRIALS,
    winner=3,
    ended="budget",
    curve=tuple(curve_of(TRIALS)),
)


def test_the_curve_has_trials_within_the_budget_that_were_better_than_all_before():
    assert [(point.cpu_seconds, point.accuracy) for point in SEARCH.curve] == [(1.0, 0.5), (4.0, 0.7)]


@pytest.mark.parametrize(("moment", "expected"), [(1.0, 0.5), (3.9, 0.5), (4.0, 0.7), (99.0, 0.7)])
def test_the_best_until_a_moment(moment, expected):
    assert best_until(SEARCH, moment).accuracy == expected


def test_before_the_first_trial_there_is_no_best():
    assert best_until(SEARCH, 0.9) is None


def test_the_interval_is_that_of_students_t():
    # Of 1, 2 and 3: mean 2, standard error 1/√3, and 4.303 of these with two degrees of freedom.
    found = over_seeds([1.0, 2.0, 3.0])
    assert found.estimate == 2.0
    assert found.upper - 2.0 == pytest.approx(4.30265 / 3**0.5, rel=1e-4)
    assert found.lower == pytest.approx(4.0 - found.upper)


def test_one_seed_has_no_interval():
    assert over_seeds([0.5]).lower == over_seeds([0.5]).upper == 0.5
