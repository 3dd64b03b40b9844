"""Warm-up: what is cut of series whose truth is known."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_dlbench.judging.warm_up import warm_up


def noisy(levels, seed=0):
    """Steps at these levels, with 3 % of noise, and one in twenty that a neighbour makes twice as long."""
    generator = np.random.default_rng(seed)
    size = len(levels)
    bursts = 1 + (generator.random(size) < 0.05)
    return (np.array(levels) * np.exp(0.03 * np.abs(generator.normal(size=size))) * bursts).tolist()


@pytest.mark.parametrize("seed", range(20))
def test_of_a_steady_series_only_the_least_is_cut(seed):
    assert (found := warm_up(noisy(np.ones(200), seed))).steps == 10
    assert found.is_steady


def test_a_compilation_in_the_first_step_makes_no_difference():
    assert warm_up([30.0, *noisy(np.ones(199))]).steps == 10


def test_of_a_warm_up_of_60_steps_less_than_a_tenth_of_the_rest_is_left():
    found = warm_up(noisy([1.5] * 60 + [1.0] * 240))
    assert 60 - 24 <= found.steps <= 150
    assert found.is_steady


def test_a_series_that_never_settles_is_reported():
    found = warm_up(noisy(np.linspace(2.0, 1.0, 300)))
    assert found.steps <= 150
    assert found.is_steady is False


def test_a_series_that_becomes_slower_is_not_steady_and_nothing_more_is_cut():
    found = warm_up(noisy([1.0] * 150 + [1.5] * 150))
    assert (found.steps, found.is_steady) == (10, False)


def test_a_neighbour_for_a_tenth_of_the_time_changes_nothing():
    found = warm_up(noisy([1.0] * 20 + [2.0] * 20 + [1.0] * 160))
    assert (found.steps, found.is_steady) == (10, True)


def test_few_steps_are_not_enough_to_decide():
    assert warm_up([1.0] * 30).is_steady is None


series = st.lists(st.floats(min_value=1e-6, max_value=10), min_size=1, max_size=300)


@given(series)
def test_at_most_half_is_cut_and_never_all(seconds):
    found = warm_up(seconds)
    assert 0 <= found.steps < len(seconds)
    assert found.steps <= max(1, len(seconds) // 2)


@given(series, st.sampled_from([0.25, 4.0, 1024.0]))
def test_the_unit_does_not_matter(seconds, factor):
    assert warm_up([factor * value for value in seconds]) == warm_up(seconds)
