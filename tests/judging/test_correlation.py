"""The correlation of epochs and accuracy within a run."""

import pytest

from pytest_dlbench.judging.correlation import epochs_and_accuracy
from pytest_dlbench.records import CurvePoint
from tests.doubles import records


def run(*accuracies):
    """A run that was evaluated after every epoch."""
    curve = tuple(
        CurvePoint(step=10 * place, epoch=float(place), seconds=float(place), accuracy=accuracy, loss=0.5)
        for place, accuracy in enumerate(accuracies, start=1)
    )
    return records.run(curve=curve)


def test_a_line_has_both_coefficients_1():
    found = epochs_and_accuracy(run(0.1, 0.2, 0.3))
    assert (found.pearson, found.spearman, found.points) == (pytest.approx(1.0), pytest.approx(1.0), 3)


def test_a_curve_that_only_rises_is_monotonous_and_not_a_line():
    found = epochs_and_accuracy(run(0.1, 0.8, 0.85, 0.86))
    assert found.spearman == pytest.approx(1.0)
    # By hand: the products of the deviations sum to 1.165, their squares to 5 and to 0.409075.
    assert found.pearson == pytest.approx(1.165 / (5 * 0.409075) ** 0.5)


def test_an_accuracy_that_falls_is_negative():
    assert epochs_and_accuracy(run(0.9, 0.5, 0.7)).pearson < 0


@pytest.mark.parametrize("accuracies", [(), (0.5,), (0.5, 0.6), (0.5, 0.5, 0.5)])
def test_what_has_no_correlation_has_none(accuracies):
    assert epochs_and_accuracy(run(*accuracies)) is None
