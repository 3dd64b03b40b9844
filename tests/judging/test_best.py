"""Which of several is the best, where the runs allow that to be said."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_dlbench.judging import METRICS
from pytest_dlbench.judging.best import best

TIME, SPEED, ACCURACY = (METRICS[name] for name in ("step_time", "throughput", "accuracy"))
runs = st.lists(st.floats(min_value=1e-4, max_value=1e2), min_size=3, max_size=6)
sides = st.lists(runs, min_size=2, max_size=5)


def test_the_least_time_is_the_best():
    assert best(TIME, [(0.02, 0.02, 0.02), (0.01, 0.01, 0.01), (0.03, 0.03, 0.03)]) == 1


def test_the_most_speed_is_the_best():
    assert best(SPEED, [(100, 101, 102), (200, 201, 202)]) == 1


def test_accuracies_are_compared_in_points():
    assert best(ACCURACY, [(0.90, 0.90, 0.90), (0.95, 0.95, 0.95)]) == 1
    assert best(ACCURACY, [(0.950, 0.950, 0.950), (0.951, 0.951, 0.951)]) is None


def test_an_accuracy_of_nothing_is_an_accuracy():
    assert best(ACCURACY, [(0.0, 0.0, 0.0), (0.5, 0.5, 0.5)]) == 1


@pytest.mark.parametrize("odd", [(0.01, 0.01), (), (0.01, 0.01, float("nan")), (0.01, 0.01, 0.0)])
def test_what_has_too_few_runs_or_no_ratio_leaves_no_best(odd):
    assert best(TIME, [(0.02, 0.02, 0.02), odd]) is None


def test_one_alone_is_no_best():
    assert best(TIME, [(0.01, 0.01, 0.01)]) is None


def test_three_runs_that_happen_to_agree_are_no_certainty():
    # 3 %: less than two cases of one session are assumed to differ by.
    assert best(TIME, [(0.0100,) * 3, (0.0103,) * 3]) is None


@given(sides, st.floats(min_value=0.01, max_value=100))
def test_another_unit_changes_nothing(values, factor):
    scaled = [[factor * value for value in side] for side in values]
    wide = best(TIME, values)
    # At the very edge rounding may decide.
    assert wide == best(TIME, scaled) or wide is None or best(TIME, scaled) is None


@given(sides, st.randoms())
def test_the_order_of_the_sides_changes_nothing(values, chance):
    places = list(range(len(values)))
    chance.shuffle(places)
    found, shuffled = best(TIME, values), best(TIME, [values[place] for place in places])
    assert (None if shuffled is None else places[shuffled]) == found


@given(runs)
def test_the_same_twice_has_no_best(values):
    assert best(TIME, [values, values]) is None


@given(sides)
def test_the_best_has_the_least_mean_on_the_logarithm(values):
    found = best(TIME, values)
    products = [1.0] * len(values)
    for place, side in enumerate(values):
        for value in side:
            products[place] *= value ** (1 / len(side))
    assert found is None or products[found] == min(products)
