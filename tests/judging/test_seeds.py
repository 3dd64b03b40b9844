"""Frameworks with the same seeds: standard deviations, and whether they differ."""

import pytest

from pytest_dlbench.judging import seeds

ACCURACIES = [0.90, 0.91, 0.89, 0.92, 0.93]


def by_seed(accuracies):
    return dict(enumerate(accuracies, start=1))


def test_standard_deviations_are_those_of_frameworks_and_of_seeds():
    lower = [of - 0.02 for of in ACCURACIES]
    found = seeds.compare({"jax": by_seed(ACCURACIES), "mxnet": by_seed(ACCURACIES), "pytorch": by_seed(lower)})
    # Of 0, 0 and -2 pp; and of 90, 91, 89, 92 and 93 %.
    assert found.of_frameworks == pytest.approx((4 / 3) ** 0.5)
    assert found.of_seeds == pytest.approx(2.5**0.5)
    assert (found.frameworks, found.seeds, found.is_different) == (3, 5, True)


def test_equal_accuracies_are_no_difference():
    found = seeds.compare(dict.fromkeys(("jax", "mxnet", "pytorch"), by_seed(ACCURACIES)))
    assert (found.of_frameworks, found.p_value, found.is_different) == (0, 1, False)


def test_frameworks_without_five_seeds_are_not_compared():
    three = dict.fromkeys(("jax", "mxnet", "pytorch"), by_seed(ACCURACIES))
    assert seeds.compare({**three, "theano": by_seed(ACCURACIES[:1])}).frameworks == 3


def test_seeds_that_not_all_have_do_not_count():
    ten = {**by_seed(ACCURACIES), **dict.fromkeys(range(6, 11), 0.5)}
    found = seeds.compare({"jax": by_seed(ACCURACIES), "mxnet": ten, "pytorch": ten})
    assert (found.seeds, found.is_different) == (5, False)


@pytest.mark.parametrize(
    "accuracies",
    [
        {},
        {"jax": by_seed(ACCURACIES)},
        {"jax": by_seed(ACCURACIES), "mxnet": by_seed(ACCURACIES)},
        {"jax": by_seed(ACCURACIES), "mxnet": by_seed(ACCURACIES), "pytorch": {9: 0.9, 8: 0.8, 7: 0.7, 6: 0.6, 5: 0.5}},
    ],
)
def test_two_frameworks_or_other_seeds_cannot_be_compared(accuracies):
    assert seeds.compare(accuracies) is None
