from math import inf, isinf

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_dlbench.judging.accuracy import (
    Divergences,
    compare_times,
    more_divergences,
    non_inferiority,
    points_lost,
)
from pytest_dlbench.judging.intervals import Interval
from pytest_dlbench.judging.metrics import METRICS
from pytest_dlbench.judging.time_to_accuracy import TimeToAccuracy
from pytest_dlbench.records import VerdictOutcome

ACCURACY = METRICS["accuracy"]
GOOD = [0.950, 0.951, 0.949, 0.950, 0.952]
shares = st.lists(st.floats(min_value=0, max_value=1), min_size=1, max_size=6)


def lost(old, new):
    return points_lost(ACCURACY, [(value,) for value in old], new)


# Points


def test_points_lost_are_above_zero():
    assert lost(GOOD, [0.93] * 3).estimate == pytest.approx(95.04 - 93)


@given(shares, shares)
def test_swapping_the_sides_mirrors_what_is_lost(old, new):
    there, back = lost(old, new), lost(new, old)
    assert (back.estimate, back.lower, back.upper) == pytest.approx((-there.estimate, -there.upper, -there.lower))


@pytest.mark.parametrize(
    ("interval", "expected"),
    [
        ((1.2, 2.0), VerdictOutcome.REGRESSED),
        ((0.5, 1.5), VerdictOutcome.INCONCLUSIVE),
        ((-0.5, 0.5), VerdictOutcome.EQUIVALENT),
        ((-3.0, 0.5), VerdictOutcome.EQUIVALENT),
        ((-3.0, -1.5), VerdictOutcome.IMPROVED),
        ((-inf, inf), VerdictOutcome.INCONCLUSIVE),
        ((float("nan"), float("nan")), VerdictOutcome.INCONCLUSIVE),
    ],
)
def test_no_more_than_the_limit_may_be_lost(interval, expected):
    lower, upper = interval
    assert non_inferiority(Interval(estimate=(lower + upper) / 2, lower=lower, upper=upper), 1.0) is expected


def test_an_accuracy_that_is_no_number_never_passes():
    assert non_inferiority(lost(GOOD, [0.95, float("nan")]), 1.0) is VerdictOutcome.INCONCLUSIVE


def test_five_seeds_against_five_find_two_points():
    assert non_inferiority(lost(GOOD, [value - 0.02 for value in GOOD]), 1.0) is VerdictOutcome.REGRESSED


def test_five_seeds_against_five_clear_what_is_the_same():
    assert non_inferiority(lost(GOOD, GOOD[::-1]), 1.0) is VerdictOutcome.EQUIVALENT


# Divergences: the figures of Barnard's test for five runs a side


@pytest.mark.parametrize(("diverged", "expected"), [(3, 0.029), (0, 1.0)])
def test_divergences_are_compared_with_chance(diverged, expected):
    found = more_divergences(Divergences(runs=5, diverged=0), Divergences(runs=5, diverged=diverged))
    assert found == pytest.approx(expected, abs=0.001)


def test_fewer_divergences_are_no_finding():
    assert more_divergences(Divergences(runs=5, diverged=3), Divergences(runs=5, diverged=0)) > 0.5


# Time to accuracy


def side(*seconds, ended=()):
    return [TimeToAccuracy(target=0.9, seconds=value, epochs=1.0, is_censored=value in ended) for value in seconds]


def test_without_censoring_the_restricted_mean_is_the_mean():
    found = compare_times(side(10.0, 12.0, 14.0), side(20.0, 22.0, 24.0))
    assert (found.old, found.new, found.longer.estimate, found.horizon) == (12.0, 22.0, 10.0, 24.0)


def test_the_interval_is_that_of_welch():
    # Variances 4 and 4, three runs each: error √(8/3), 4 degrees of freedom, t at 97.5 % 2.776445.
    found = compare_times(side(10.0, 12.0, 14.0), side(20.0, 22.0, 24.0))
    assert found.longer.upper - 10 == pytest.approx(2.776445 * (8 / 3) ** 0.5, abs=1e-5)


def test_a_run_that_never_got_there_counts_for_as_long_as_it_was_watched():
    found = compare_times(side(10.0, 12.0, 14.0), side(20.0, 22.0, 30.0, ended=(30.0,)))
    assert (found.new, found.horizon) == (24.0, 30.0)


def test_no_run_is_followed_for_longer_than_all_were_watched():
    found = compare_times(side(10.0, 50.0), side(12.0, 30.0, ended=(30.0,)))
    assert (found.old, found.horizon) == (20.0, 30.0)


def test_leaving_out_who_never_got_there_would_hide_that_they_did_not():
    reached, given_up = side(10.0, 11.0, 12.0, 13.0), side(10.0, 40.0, 41.0, 42.0, ended=(40.0, 41.0, 42.0))
    found = compare_times(reached, given_up)
    assert found.new > 3 * found.old / 2
    assert found.p_value < 0.1


def test_sides_that_never_got_there_are_not_distinguished():
    found = compare_times(side(30.0, 30.0, ended=(30.0,)), side(30.0, 30.0, ended=(30.0,)))
    assert found.p_value == 1.0
    assert isinf(found.longer.upper)


def test_one_run_a_side_is_refused():
    with pytest.raises(ValueError, match="two runs or more"):
        compare_times(side(1.0), side(2.0, 3.0))


@given(
    st.lists(st.floats(min_value=1, max_value=100), min_size=3, max_size=6, unique=True),
    st.floats(min_value=1.1, max_value=3),
)
def test_swapping_the_sides_mirrors_the_times(seconds, factor):
    old, new = side(*seconds), side(*[factor * value for value in seconds])
    there, back = compare_times(old, new), compare_times(new, old)
    assert back.longer.lower == pytest.approx(-there.longer.upper)
    assert back.p_value == pytest.approx(there.p_value)
