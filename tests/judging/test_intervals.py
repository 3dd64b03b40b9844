"""The laws of the intervals, and their error rates by simulation with fixed seeds."""

from collections import Counter
from dataclasses import replace
from math import log, sqrt

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_dlbench.judging.intervals import centre, independent_runs, of_mean, unpaired
from pytest_dlbench.judging.metrics import METRICS
from pytest_dlbench.judging.verdicts import ALPHA, decide
from pytest_dlbench.records import VerdictOutcome

TIME, MEMORY, ACCURACY = METRICS["step_time"], METRICS["peak_rss"], METRICS["accuracy"]
LIMIT = log(1.05)
SESSIONS = 2000
# Percentage points, of the difference of two runs of one seed: what is assumed of it, and what is found.
PAIR_SD = sqrt(2) * ACCURACY.run_sd
REAL_PAIR_SD = 0.4
WITH_AND_WITHOUT_CLIP = pytest.mark.parametrize("is_robust", [True, False])

logs = st.lists(st.floats(min_value=-1, max_value=1), min_size=1, max_size=8).map(np.array)


def between(old, new, *, metric=TIME, **changes):
    settings_of = {"run_sd": metric.run_sd, "session_sd": metric.session_sd, "is_robust": metric.is_robust}
    return unpaired(np.asarray(old), np.asarray(new), **{**settings_of, "alpha": ALPHA, **changes})


def of_differences(differences, *, run_sd=PAIR_SD, is_robust=False, alpha=ALPHA):
    return of_mean(np.asarray(differences), run_sd=run_sd, is_robust=is_robust, alpha=alpha)


def ends(interval):
    return (interval.estimate, interval.lower, interval.upper)


def width(interval):
    return interval.upper - interval.lower


# Laws


@WITH_AND_WITHOUT_CLIP
@given(old=logs, new=logs, shift=st.floats(min_value=-20, max_value=20))
@settings(deadline=None)
def test_scaling_all_times_leaves_the_ratio_where_it_is(is_robust, old, new, shift):
    moved = between(old + shift, new + shift, is_robust=is_robust)
    assert ends(moved) == pytest.approx(ends(between(old, new, is_robust=is_robust)), abs=1e-6)


@WITH_AND_WITHOUT_CLIP
@given(old=logs, new=logs, shift=st.floats(min_value=-1, max_value=1))
@settings(deadline=None)
def test_scaling_the_new_times_scales_the_ratio(is_robust, old, new, shift):
    moved = between(old, new + shift, is_robust=is_robust)
    plain = between(old, new, is_robust=is_robust)
    assert ends(moved) == pytest.approx([end + shift for end in ends(plain)], abs=1e-6)


@WITH_AND_WITHOUT_CLIP
@given(old=logs, new=logs)
@settings(deadline=None)
def test_swapping_the_sides_mirrors_the_interval(is_robust, old, new):
    there, back = between(old, new, is_robust=is_robust), between(new, old, is_robust=is_robust)
    assert ends(back) == pytest.approx((-there.estimate, -there.upper, -there.lower), abs=1e-9)


@given(differences=logs)
@settings(deadline=None)
def test_swapping_the_sides_of_pairs_mirrors_the_interval(differences):
    there, back = of_differences(differences), of_differences(-differences)
    assert ends(back) == pytest.approx((-there.estimate, -there.upper, -there.lower), abs=1e-9)


@WITH_AND_WITHOUT_CLIP
@given(old=logs, new=logs)
@settings(deadline=None)
def test_an_interval_is_around_its_estimate_and_never_empty(is_robust, old, new):
    interval = between(old, new, is_robust=is_robust)
    assert interval.lower < interval.estimate < interval.upper
    assert interval.upper - interval.estimate == pytest.approx(interval.estimate - interval.lower)


@given(old=logs, new=logs)
@settings(deadline=None)
def test_more_runs_of_the_same_spread_narrow_the_interval(old, new):
    few = between(old, new, session_sd=0.0, is_robust=False)
    many = between(np.tile(old, 3), np.tile(new, 3), session_sd=0.0, is_robust=False)
    assert width(many) < width(few)


@given(differences=logs)
@settings(deadline=None)
def test_more_pairs_of_the_same_spread_narrow_the_interval(differences):
    assert width(of_differences(np.tile(differences, 3))) < width(of_differences(differences))


@given(old=logs, new=logs)
@settings(deadline=None)
def test_being_surer_widens_the_interval(old, new):
    assert width(between(old, new, alpha=0.01)) > width(between(old, new, alpha=0.05))


@given(old=logs, new=logs)
@settings(deadline=None)
def test_a_greater_assumed_spread_of_runs_never_narrows_the_interval(old, new):
    calm = between(old, new, run_sd=0.01, session_sd=0.0, is_robust=False)
    assert width(between(old, new, run_sd=0.02, session_sd=0.0, is_robust=False)) >= width(calm)


@WITH_AND_WITHOUT_CLIP
@given(old=logs, new=logs)
@settings(deadline=None)
def test_the_estimate_is_the_difference_of_the_centres(is_robust, old, new):
    centres = [centre(side, run_sd=TIME.run_sd, is_robust=is_robust) for side in (old, new)]
    assert between(old, new, is_robust=is_robust).estimate == pytest.approx(centres[1] - centres[0])


# What is assumed, where the data say nothing


def test_runs_that_agree_are_no_certainty():
    assert width(between([0.0, 0.0, 0.0], [0.0, 0.0, 0.0])) > 2 * TIME.run_sd


def test_pairs_that_agree_are_no_certainty():
    # Variance 4·0.2²/6 of a difference, three of them, t of 6 degrees at 95 %.
    assert of_differences([0.0, 0.0, 0.0], run_sd=0.2).upper == pytest.approx(1.9432 * sqrt(4 * 0.04 / 6 / 3), rel=1e-4)


def test_identical_sides_of_three_have_the_width_that_the_formula_says():
    # Both spreads s: runs 4·s²/8·(1/3 + 1/3) = s²/3 with 8 degrees of freedom; sessions 2·s² with 4; together 7/3·s²
    # with (1/3 + 2)² / ((1/3)²/8 + 2²/4) = 5.37, whose t at 95 % is 1.98479.
    found = between([0.0] * 3, [0.0] * 3, run_sd=0.015, session_sd=0.015)
    assert found.upper == pytest.approx(0.015 * sqrt(7 / 3) * 1.98479, rel=1e-4)


def test_the_spread_of_sessions_stays_however_many_runs_there_are():
    assert width(between([0.0] * 500, [0.0] * 500)) / 2 > 1.645 * sqrt(2) * TIME.session_sd


def test_what_is_assumed_makes_runs_with_a_large_spread_no_quieter():
    # Variance 0.1² on both sides, t of 4 degrees at 95 %.
    far = [-0.1, 0.0, 0.1]
    assert between(far, far, session_sd=0.0, is_robust=False).upper == pytest.approx(
        2.1318 * 0.1 * sqrt(2 / 3), rel=1e-4
    )


def test_a_single_run_a_side_still_has_an_interval():
    assert width(between([0.0], [0.0])) > width(between([0.0] * 3, [0.0] * 3))


# Outliers


def test_a_run_far_from_the_others_is_pulled_in():
    assert abs(between([0.0] * 5, [0.0] * 4 + [log(1.5)]).estimate) < 0.01


def test_a_run_far_from_the_others_counts_in_full_where_it_is_the_finding():
    assert of_differences([0.0, 0.0, -30.0]).estimate == pytest.approx(-10)


def test_runs_within_the_usual_spread_are_not_pulled_in():
    usual = [-0.02, 0.0, 0.02]
    assert between([0.0] * 3, usual).estimate == pytest.approx(np.mean(usual), abs=1e-12)


# Error rates. A rate from 2,000 sessions is good to ±1 point: the limits leave room for that.


def simulate(metric, *, change, runs=3, seed=1, factor=1.0):
    """Intervals of sessions whose noise is ``factor`` of what is assumed."""
    random = np.random.default_rng(seed)
    run_sd, session_sd = factor * metric.run_sd, factor * metric.session_sd
    for _ in range(SESSIONS):
        old, new = (random.normal(where + random.normal(0, session_sd), run_sd, runs) for where in (0.0, change))
        yield between(old, new, metric=metric)


def shares(intervals, limit=LIMIT, *, is_lower_better=True):
    found = Counter(decide(interval, limit, is_lower_better=is_lower_better) for interval in intervals)
    return {outcome: found[outcome] / found.total() for outcome in VerdictOutcome}


@pytest.mark.parametrize("metric", [TIME, MEMORY], ids=lambda metric: metric.name)
@pytest.mark.parametrize("runs", [3, 5, 10])
def test_the_interval_covers_the_true_change_as_often_as_it_says(metric, runs):
    covered = [interval.lower <= 0.03 <= interval.upper for interval in simulate(metric, change=0.03, runs=runs)]
    assert np.mean(covered) >= 0.88


def test_the_interval_of_pairs_covers_the_true_change_as_often_as_it_says():
    random = np.random.default_rng(2)
    pairs = random.normal(-0.5, REAL_PAIR_SD, (SESSIONS, 3))
    covered = [interval.lower <= -0.5 <= interval.upper for interval in map(of_differences, pairs)]
    assert np.mean(covered) >= 0.88


@pytest.mark.parametrize("metric", [TIME, MEMORY], ids=lambda metric: metric.name)
def test_a_change_at_the_tolerance_is_rarely_called_regressed(metric):
    limit = log(1 + metric.tolerance)
    assert shares(simulate(metric, change=limit), limit)[VerdictOutcome.REGRESSED] <= 0.065


def test_a_change_at_the_tolerance_is_rarely_called_equivalent():
    assert shares(simulate(TIME, change=LIMIT))[VerdictOutcome.EQUIVALENT] <= 0.065


@pytest.mark.parametrize(("metric", "factor"), [(MEMORY, 8), (ACCURACY, 10)], ids=["memory", "accuracy"])
def test_runs_far_noisier_than_assumed_keep_the_promised_rate(metric, factor):
    # JAX's peak memory in twenty steps: 11 % from run to run. Accuracies after twenty: three points from seed to seed.
    quiet = replace(metric, session_sd=0.0)
    intervals = simulate(quiet, change=0.0, factor=factor)
    assert shares(intervals, 0.0)[VerdictOutcome.REGRESSED] <= 0.065


@pytest.mark.parametrize("metric", [TIME, MEMORY], ids=lambda metric: metric.name)
def test_no_change_is_practically_never_called_regressed(metric):
    limit = log(1 + metric.tolerance)
    assert shares(simulate(metric, change=0.0), limit)[VerdictOutcome.REGRESSED] <= 0.002


def test_no_change_with_twice_the_assumed_noise_is_rarely_called_regressed():
    assert shares(simulate(TIME, change=0.0, factor=2))[VerdictOutcome.REGRESSED] <= 0.06


def test_six_times_the_tolerance_is_nearly_always_called_regressed():
    assert shares(simulate(TIME, change=6 * LIMIT))[VerdictOutcome.REGRESSED] >= 0.99


def accuracies(*, change, sd=ACCURACY.run_sd):
    """Shares of the verdicts of sessions with three seeds against three, at a tolerance of one point."""
    old, new = np.random.default_rng(3).normal(0.0, sd, (2, SESSIONS, 3))
    intervals = (between(*both, metric=ACCURACY) for both in zip(old, new + change, strict=True))
    return shares(intervals, 1.0, is_lower_better=False)


@pytest.mark.parametrize("sd", [0.1, 0.28, 0.6, 3.0])
@pytest.mark.parametrize("outcome", [VerdictOutcome.REGRESSED, VerdictOutcome.EQUIVALENT])
def test_a_loss_of_accuracy_at_the_tolerance_is_rarely_called_either_whatever_the_spread_of_seeds(outcome, sd):
    assert accuracies(change=-1.0, sd=sd)[outcome] <= 0.065


def test_no_change_of_accuracy_is_usually_called_equivalent():
    assert accuracies(change=0.0)[VerdictOutcome.EQUIVALENT] >= 0.92


def test_three_times_the_tolerance_of_accuracy_is_nearly_always_called_regressed():
    assert accuracies(change=-3.0)[VerdictOutcome.REGRESSED] >= 0.99


@pytest.mark.parametrize("sides", ["new", "old and new"])
def test_one_run_in_five_that_is_half_slower_is_never_a_regression(sides):
    random = np.random.default_rng(4)
    old, new = random.normal(0, TIME.run_sd, (2, SESSIONS, 5))
    new[:, 0] += log(1.5)
    if "old" in sides:
        old[:, 0] += log(1.5)
    assert shares(between(*both) for both in zip(old, new, strict=True))[VerdictOutcome.REGRESSED] == 0


def test_one_run_in_five_that_is_half_slower_does_not_hide_a_regression():
    random = np.random.default_rng(5)
    old, new = random.normal(0, TIME.run_sd, (2, SESSIONS, 5))
    new += log(1.5)
    old[:, 0] += log(1.5)
    assert shares(between(*both) for both in zip(old, new, strict=True))[VerdictOutcome.REGRESSED] >= 0.99


# Stored runs, several of a seed


def test_repetitions_that_agree_are_one_run_a_seed():
    assert independent_runs([[0.9] * 10, [0.95] * 10, [0.99] * 10]) == 3
    assert independent_runs([[1.0] * 10] * 3) == 3


def test_repetitions_that_differ_as_seeds_do_are_runs_of_their_own():
    random = np.random.default_rng(1)
    worth = [independent_runs(random.normal(0, 1, (3, 10)).tolist()) for _ in range(200)]
    assert np.median(worth) == 30


def test_without_repetitions_every_run_counts():
    assert independent_runs([[1.0], [1.1], [0.9]]) == 3


def test_stored_runs_narrow_the_interval_as_far_as_they_are_independent():
    new, groups = np.array([0.0, 0.01, -0.01]), np.random.default_rng(2).normal(0, 0.01, (3, 10))
    known = between(groups.ravel(), new, metric=MEMORY, old_runs=independent_runs(groups.tolist()))
    means = between(groups.mean(axis=1), new, metric=MEMORY)
    assert known.estimate == pytest.approx(means.estimate)
    assert width(known) < width(means)


@pytest.mark.parametrize("shared", [0.0, 1.0])
def test_the_interval_against_repeated_seeds_covers_the_truth_as_often_as_it_says(shared):
    # Seeds that differ as much as runs do (1), or not at all; the candidate's seeds are others.
    random, held = np.random.default_rng(4), 0
    for _ in range(SESSIONS):
        old = shared * random.normal(0, 0.01, (3, 1)) + random.normal(0, 0.01, (3, 5))
        new = shared * random.normal(0, 0.01, 3) + random.normal(0, 0.01, 3)
        found = between(old.ravel(), new, session_sd=0.0, is_robust=False, old_runs=independent_runs(old.tolist()))
        held += found.lower < 0 < found.upper
    assert held / SESSIONS >= 1 - 2 * ALPHA - 0.02
