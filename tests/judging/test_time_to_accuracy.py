"""When a target accuracy was reached, and what that cost; a run that never did is censored."""

from dataclasses import replace

import pytest

from pytest_dlbench.judging import censored, read_all, summarise, time_to_accuracy
from pytest_dlbench.records import CurvePoint
from pytest_dlbench.records.reasons import TargetMissed
from tests.doubles import records


def run(accuracies, target=0.9, seed=1):
    """A run that was evaluated every 10 steps of 0.1 s, two evaluations an epoch."""
    curve = tuple(
        CurvePoint(step=10 * number, epoch=number / 2, seconds=float(number), accuracy=accuracy, loss=0.5)
        for number, accuracy in enumerate(accuracies, start=1)
    )
    return records.run(seed, accuracy=accuracies[-1], curve=curve, target_accuracy=target)


ARRIVED, RISING, NEVER = run([0.5, 0.91, 0.95]), run([0.2, 0.8, 0.9], seed=2), run([0.5, 0.6, 0.7], seed=3)


def test_the_first_evaluation_at_or_above_the_target_counts():
    assert (time_to_accuracy(ARRIVED).seconds, time_to_accuracy(ARRIVED).epochs) == (2.0, 1.0)
    assert (time_to_accuracy(RISING).seconds, time_to_accuracy(RISING).epochs) == (3.0, 1.5)


def test_what_falls_below_the_target_again_has_reached_it():
    assert time_to_accuracy(run([0.95, 0.3])).seconds == 1.0


def test_a_run_that_never_reaches_it_is_censored_at_the_end_of_its_training():
    found = time_to_accuracy(NEVER)
    assert found.is_censored
    assert (found.seconds, found.epochs) == (3.0, 1.5)


@pytest.mark.parametrize("silent", [run([0.95], target=None), records.run(target_accuracy=0.9), records.run()])
def test_without_a_target_or_a_curve_there_is_no_time(silent):
    assert time_to_accuracy(silent) is None
    assert not {"time_to_accuracy", "reached_accuracy"} & read_all([silent]).keys()


def test_a_case_has_the_median_where_all_runs_arrived():
    assert summarise([ARRIVED, RISING])["time_to_accuracy"] == 2.5


def test_of_a_case_with_a_censored_run_no_time_is_reported_from_the_others_alone():
    found = summarise([ARRIVED, RISING, NEVER])
    assert "time_to_accuracy" not in found
    assert read_all([ARRIVED, RISING, NEVER])["reached_accuracy"] == (1.0, 1.0, 0.0)


def test_a_censored_run_is_reported_with_how_long_it_tried():
    (found,) = censored([ARRIVED, NEVER])
    assert found == TargetMissed(missed=1, runs=2, target=0.9, seconds=3.0, epochs=1.5)


def test_nothing_is_reported_where_all_runs_arrived():
    assert censored([ARRIVED, RISING]) == ()


def test_the_best_accuracy_is_that_of_any_evaluation_and_the_final_one_that_of_the_last():
    found = summarise([run([0.5, 0.97, 0.91])])
    assert (found["best_accuracy"], found["accuracy"]) == (0.97, 0.91)


def test_an_older_run_without_a_curve_has_its_final_accuracy_as_the_best():
    assert summarise([records.run(accuracy=0.8)])["best_accuracy"] == 0.8


def test_the_best_accuracy_is_the_first_of_the_highest():
    found = summarise([run([0.5, 0.95, 0.95, 0.9])])
    assert (found["best_accuracy"], found["epochs_to_best"], found["time_to_best"]) == (0.95, 1.0, 2.0)


def test_a_run_without_a_curve_has_no_time_of_the_best():
    assert not {"epochs_to_best", "time_to_best"} & read_all([records.run()]).keys()


def test_the_cost_is_that_of_the_whole_run_and_of_the_training_until_the_target():
    checked = {**ARRIVED.usage, "check_steps": records.usage(wall_seconds=2.0)}
    priced = replace(ARRIVED, hourly_price=3.6, wall_seconds=12.0, usage=checked)
    found = summarise([priced])
    assert (found["cost"], found["cost_to_accuracy"]) == (pytest.approx(0.01), pytest.approx(0.002))


def test_without_a_price_there_is_no_cost():
    assert not {"cost", "cost_to_accuracy"} & read_all([ARRIVED]).keys()


def test_what_was_not_reached_has_no_cost_to_accuracy():
    found = summarise([replace(NEVER, hourly_price=3.6)])
    assert "cost" in found
    assert "cost_to_accuracy" not in found
