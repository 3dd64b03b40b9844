import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_dlbench.judging import METRICS
from pytest_dlbench.reporting import figures
from tests.doubles import records

POINTS = records.verdict(metric="accuracy", change=-2.314, lower=-2.9, upper=-1.724, tolerance=1.0)


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (0.0, "0"),
        (1.0, "1.00"),
        (12.345, "12.3"),
        (123.45, "123"),
        (1234567.8, "1,234,568"),
        (0.00123456, "0.00123"),
        (-0.5, "-0.500"),
        (9.996, "10.0"),
        (0.0009996, "0.00100"),
        (math.nan, "nan"),
        (math.inf, "inf"),
    ],
)
def test_a_number_has_three_digits(value, shown):
    assert figures.significant(value) == shown


@given(st.floats(min_value=1e-6, max_value=1e9))
def test_the_shown_number_is_accurate_to_three_digits(value):
    assert float(figures.significant(value).replace(",", "")) == pytest.approx(value, rel=0.0051)


@given(st.floats(min_value=1e-6, max_value=99))
def test_small_numbers_have_exactly_three_digits(value):
    digits = figures.significant(value).replace(".", "").lstrip("0")
    assert len(digits) == 3


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (0.0, "0 µs"),
        (0.000_012_3, "12.3 µs"),
        (0.001, "1.00 ms"),
        (0.000_999_999, "1.00 ms"),
        (0.999_6, "1.00 s"),
        (0.0123, "12.3 ms"),
        (1.0, "1.00 s"),
        (75.0, "75.0 s"),
    ],
)
def test_a_time_is_shown_in_a_suitable_unit(value, shown):
    assert figures.seconds(value) == shown


@pytest.mark.parametrize(
    ("metric", "value", "shown"),
    [
        ("step_time", 0.0123, "12.3 ms"),
        ("first_step", 1.5, "1.50 s"),
        ("throughput", 5812.4, "5,812 samples/s"),
        ("accuracy", 0.98765, "98.77 %"),
        ("peak_rss", 512.0 * 2**20, "512 MiB"),
        ("cpu_use", 1.75, "1.75 cores"),
    ],
)
def test_a_figure_has_its_unit(metric, value, shown):
    assert figures.figure(metric, value) == shown


@pytest.mark.parametrize("metric", METRICS)
def test_every_metric_can_be_shown(metric):
    number, _, unit = figures.figure(metric, 0.5).partition(" ")
    assert number
    # Only the user knows the currency.
    assert bool(unit) == (METRICS[metric].unit != "currency")


def test_a_ratio_is_shown_with_its_interval():
    verdict = records.verdict(change=1.0834, lower=1.0612, upper=1.1061)
    assert figures.change(verdict) == "ratio 1.083 [1.061, 1.106]"


def test_a_change_without_bounds_says_so():
    assert figures.change(records.verdict(lower=None, upper=None)) == "ratio 1.200 [no interval]"


def test_a_comparison_without_a_single_pair_shows_no_change():
    assert figures.change(records.verdict(change=None, lower=None, upper=None)) == "no change known [no interval]"


def test_points_are_shown_with_their_signs():
    assert figures.change(POINTS) == "-2.31 pp [-2.90, -1.72]"


def test_gained_points_have_a_plus():
    gained = records.verdict(metric="accuracy", change=0.5, lower=-0.1, upper=1.1, tolerance=1.0)
    assert figures.change(gained) == "+0.50 pp [-0.10, +1.10]"


@pytest.mark.parametrize(("amount", "shown"), [(0.05, "5%"), (0.025, "2.5%"), (0.07, "7%"), (0.001, "0.1%")])
def test_a_tolerance_of_a_ratio_is_shown_as_it_is_typed(amount, shown):
    assert figures.tolerance(records.verdict(tolerance=amount)) == shown


def test_a_tolerance_in_points_is_shown_as_it_is_typed():
    assert figures.tolerance(POINTS) == "1pp"


@pytest.mark.parametrize(
    ("number", "shown"),
    [
        (0, "0"),
        (650, "650"),
        (1210, "1.21 K"),
        (2_293_000, "2.29 M"),
        (61_100_840, "61.1 M"),
        (4_090_000_000, "4.09 G"),
    ],
)
def test_a_count_has_three_digits_and_its_unit(number, shown):
    assert figures.count(number) == shown


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [(0.4, "0 s"), (59.4, "59 s"), (59.6, "1 min 00 s"), (125, "2 min 05 s"), (4800, "1 h 20 min")],
)
def test_a_duration_is_shown_to_the_second_or_from_an_hour_on_to_the_minute(seconds, shown):
    assert figures.duration(seconds) == shown


@pytest.mark.parametrize(
    ("metric", "value", "shown"),
    [
        ("step_time", 0.0123, "1.3%"),
        ("step_time", 0.02, "2%"),
        ("step_time", 0.123, "13%"),
        ("accuracy", 0.402, "0.41pp"),
    ],
)
def test_an_amount_is_rounded_up_to_two_digits(metric, value, shown):
    assert figures.enough(metric, value) == shown
