from math import isnan, log, nan

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_dlbench.judging.metrics import METRICS
from pytest_dlbench.judging.scales import badness, limit, shown, smallest_spread, tolerance_at

TIME, THROUGHPUT, ACCURACY, MEMORY = (METRICS[name] for name in ("step_time", "throughput", "accuracy", "peak_rss"))
positive = st.floats(min_value=1e-6, max_value=1e9)


@pytest.mark.parametrize(
    ("metric", "worse", "better"), [(TIME, 2.0, 1.0), (THROUGHPUT, 1.0, 2.0), (ACCURACY, 0.9, 0.95)]
)
def test_what_is_worse_is_above(metric, worse, better):
    assert badness(metric, worse) > badness(metric, better)


@pytest.mark.parametrize("value", [0.0, -1.0, nan, float("inf")])
def test_what_has_no_ratio_is_no_number(value):
    assert isnan(badness(TIME, value))


def test_an_accuracy_of_nothing_is_a_number():
    assert badness(ACCURACY, 0.0) == 0.0


def test_limits_are_differences():
    assert (limit(TIME, 0.05), limit(ACCURACY, 1.0)) == (log(1.05), 1.0)


MIB = 2**20


@pytest.mark.parametrize(
    ("tolerance", "old", "expected"),
    [(0.02, 400 * MIB, 0.04), (0.02, 8000 * MIB, 0.02), (0.01, 400 * MIB, 0.01), (0.02, nan, 0.02), (0.02, 0.0, 0.02)],
)
def test_a_default_tolerance_allows_the_least_change_of_its_metric(tolerance, old, expected):
    assert tolerance_at(MEMORY, tolerance, old) == expected


def test_most_tolerances_are_the_same_share_of_every_figure():
    assert tolerance_at(TIME, 0.05, 1e-9) == 0.05


@given(positive, positive)
def test_a_difference_is_shown_as_the_ratio_it_came_from(old, new):
    for metric in (TIME, THROUGHPUT):
        change = badness(metric, new) - badness(metric, old)
        assert shown(metric, change, change, change) == pytest.approx((new / old,) * 3)


def test_points_lost_are_shown_below_zero():
    assert shown(ACCURACY, 2.0, 1.5, 2.5) == (-2.0, -2.5, -1.5)


def test_memory_may_agree_better_than_time():
    assert smallest_spread(MEMORY) < smallest_spread(TIME)
