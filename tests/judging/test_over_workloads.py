"""Frameworks over many workloads: sizes of differences, their intervals, and what tests can show."""

from itertools import product
from math import exp, inf, sqrt

import numpy as np
import pytest

from pytest_dlbench.judging import METRICS
from pytest_dlbench.judging.over_workloads import compare, least_signed_rank, signed_rank

TIME, ACCURACY, SPEED = METRICS["step_time"], METRICS["accuracy"], METRICS["throughput"]


def table(**of):
    """Three equal runs of each figure."""
    return {name: {f"w{place}": [value] * 3 for place, value in enumerate(row)} for name, row in of.items()}


def test_ratios_are_to_the_framework_with_the_shortest_times():
    found = compare(TIME, table(a=(2.0, 8.0), b=(1.0, 1.0), c=(4.0, 1.1)))
    assert [(one.framework, one.best) for one in found] == [("c", "b"), ("a", "b")]
    assert [one.change.estimate for one in found] == pytest.approx([sqrt(4.4), 4.0])


def test_the_largest_is_the_best_where_more_is_better():
    (found,) = compare(SPEED, table(a=(100, 300), b=(200, 200.0)))
    assert (found.framework, found.best, found.worse) == ("a", "b", 1)


def test_accuracies_are_compared_in_percentage_points():
    (found,) = compare(ACCURACY, table(a=(0.90, 0.80, 0.70), b=(0.92, 0.81, 0.70)))
    assert (found.framework, found.best, found.worse) == ("a", "b", 2)
    assert found.change.estimate == pytest.approx(-1.0)


def test_the_interval_is_that_of_students_t_on_the_logarithms():
    # Logarithms 0.1, 0.2, 0.3: sd 0.1, error 0.1/√3, t of 2 degrees at 97.5 % 4.302653.
    (found,) = compare(TIME, table(a=map(exp, (0.1, 0.2, 0.3)), b=(1, 1, 1)))
    width = 4.302653 * 0.1 / sqrt(3)
    assert (found.change.lower, found.change.upper) == pytest.approx((exp(0.2 - width), exp(0.2 + width)), rel=1e-6)


def test_only_workloads_that_all_have_count():
    found = compare(TIME, table(a=(2, 2, 2), b=(1, 1, 1), c=(3, 3)))
    assert {one.workloads for one in found} == {2}


@pytest.mark.parametrize("of", [{}, {"a": (1, 2)}, {"a": (1,), "b": (2,)}, {"a": (), "b": (2, 3)}])
def test_too_little_is_not_compared(of):
    assert compare(TIME, table(**of)) == ()


def test_a_figure_without_a_logarithm_is_refused():
    with pytest.raises(ValueError, match="step_time: expected figures above 0"):
        compare(TIME, table(a=(1.0, 0.0), b=(1.0, 1.0)))


def test_more_frameworks_make_each_claim_harder():
    (alone,) = compare(TIME, table(a=(1.2, 1.3, 1.1), b=(1, 1, 1)))
    among = {one.framework: one for one in compare(TIME, table(a=(1.2, 1.3, 1.1), b=(1, 1, 1), c=(1.0, 1.1, 1.0)))}
    assert among["a"].p_value > alone.p_value
    assert (alone.pairs, among["a"].pairs) == (1, 3)


def test_workloads_that_agree_support_that_one_is_worse():
    (found,) = compare(TIME, table(a=(1.2, 1.21, 1.19, 1.2, 1.22), b=(1,) * 5))
    assert (found.is_supported, found.worse) == (True, 5)


# The bootstrap


def test_with_equal_runs_the_bootstrap_draws_workloads():
    # Means of n draws of 0 and 1 are those of a binomial distribution: 0 and 1 at 2.5 % and 97.5 % for two workloads.
    (found,) = compare(TIME, table(a=(1, exp(1)), b=(1, 1)))
    assert (found.resampled.lower, found.resampled.upper) == pytest.approx((1.0, exp(1)))


def test_runs_that_differ_widen_the_bootstrap():
    def width(spread):
        noisy = {f"w{place}": [1.2 * exp(-spread), 1.2, 1.2 * exp(spread)] for place in range(8)}
        (found,) = compare(TIME, {"a": noisy, "b": {name: [1.0] for name in noisy}})
        return found.resampled.upper - found.resampled.lower

    assert width(0.0) == pytest.approx(0.0, abs=1e-9)
    assert width(0.1) > width(0.02) > 0.0


def test_the_bootstrap_is_the_same_each_time():
    noisy = {f"w{place}": [1.0, 1.1, 1.3 + place] for place in range(8)}
    other = {name: [1.0, 1.0, 1.1] for name in noisy}
    assert compare(TIME, {"a": noisy, "b": other}) == compare(TIME, {"a": noisy, "b": other})


def test_the_interval_of_t_holds_the_truth_and_that_of_the_bootstrap_less_often():
    random = np.random.default_rng(7)
    held = np.array([_holds(random, 8) for _ in range(300)])
    # Three standard errors of 95 % in 300 comparisons are 3.8 %.
    assert held[:, 0].mean() >= 0.95 - 0.038
    assert 0.80 <= held[:, 1].mean() < 0.95


def _holds(random, workloads):
    """Whether either interval holds the true ratio of 1.3: workloads differ by 15 %, runs by 3 %."""
    own = random.normal(0, 0.15, workloads)
    runs = {
        name: {f"w{place}": list(np.exp(shift + random.normal(0, 0.03, 5))) for place, shift in enumerate(shifts)}
        for name, shifts in (("a", np.log(1.3) + own), ("b", np.zeros(workloads)))
    }
    (found,) = compare(TIME, runs)
    true = 1.3 if found.framework == "a" else 1 / 1.3
    return [interval.lower <= true <= interval.upper for interval in (found.change, found.resampled)]


# Wilcoxon's test


def test_the_signed_rank_test_is_exact():
    differences = (0.5, 1.0, -1.5, 2.0, 2.5)
    total = sum(rank for rank, value in enumerate(differences, start=1) if value > 0)
    sums = [sum(rank for rank, sign in enumerate(signs, start=1) if sign) for signs in product((0, 1), repeat=5)]
    expected = 2 * np.mean([found >= total for found in sums])
    assert signed_rank(differences) == pytest.approx(expected)


def test_five_runs_cannot_be_significant():
    assert signed_rank([1, 2, 3, 4, 5]) == pytest.approx(least_signed_rank(5)) == pytest.approx(0.0625)
    assert least_signed_rank(8, tests=55) == pytest.approx(55 / 128)
    assert least_signed_rank(0) == 1.0


def test_equal_pairs_show_nothing():
    assert signed_rank([0.0, 0.0]) == 1.0


def test_few_workloads_leave_the_corrected_p_value_at_1():
    found = compare(TIME, table(a=(1.2, 1.3, 1.1), b=(1, 1, 1), c=(2, 2.1, 1.9), d=(3, 3.1, 2.9)))
    assert {one.signed_rank for one in found} == {1.0}


def test_no_spread_over_workloads_has_no_interval():
    (found,) = compare(TIME, table(a=(2, 2, 2), b=(1, 1, 1)))
    assert (found.change.lower, found.change.upper, found.p_value) == (0.0, inf, 1.0)
