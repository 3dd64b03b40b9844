"""A validation split in a run: what is held out, when training stops, and which epoch is tested."""

from dataclasses import replace
from math import exp
from random import Random

import pytest

from pytest_dlbench.data import synthetic
from pytest_dlbench.data.held_out import validated
from pytest_dlbench.data.preparation import prepare
from pytest_dlbench.judging import METRICS, alternation
from pytest_dlbench.model import SGD
from pytest_dlbench.records import RunOutcome
from pytest_dlbench.records.problems import NotFinite
from pytest_dlbench.reporting import problems
from pytest_dlbench.running.alternating import train_pair
from pytest_dlbench.running.training import train_once
from tests.running.specs import BATCH, CLASSES, spec

EPOCHS = 12
PER_EPOCH = 1024 // BATCH
# Far too fast to settle: after a few epochs the validation loss goes up and down.
RATE = 4.0


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("data")


@pytest.fixture(scope="module")
def planned(folder):
    def of(builder="numpy_softmax", *, rate=RATE, epochs=EPOCHS, **settings):
        usual = spec(builder, folder)
        recipe = replace(usual.recipe, optimizer=SGD(rate), epochs=epochs, validation=True, **settings)
        whole = synthetic((1, 4, 5), CLASSES)
        return replace(
            usual,
            recipe=recipe,
            data=prepare(validated(whole), folder),
            whole=prepare(whole, folder),
            steps=epochs * PER_EPOCH,
            evaluate_after=tuple(range(PER_EPOCH, epochs * PER_EPOCH, PER_EPOCH)),
        )

    return of


@pytest.fixture(scope="module")
def whole(planned):
    """A run that trains to its end."""
    return train_once(planned(), 0)


def stop(points, patience):
    """The number of epochs after which a reader of the curve would stop, and the best of them; from 1."""
    best = 0
    for place, point in enumerate(points):
        if point.loss < points[best].loss:
            best = place
        elif place - best >= patience:
            return place + 1, best + 1
    return len(points), best + 1


def test_the_held_out_examples_are_evaluated_after_each_epoch_apart_from_the_test_split(whole):
    assert whole.outcome is RunOutcome.FINISHED, problems.of_run(whole)
    ends = [PER_EPOCH * epoch for epoch in range(1, EPOCHS + 1)]
    assert [point.step for point in whole.validation.curve] == [point.step for point in whole.curve] == ends
    assert (whole.validation.examples, whole.evaluation.examples) == (256, 320)
    assert whole.validation.curve[-1].loss != whole.curve[-1].loss
    assert list(whole.usage) == ["hello", "build", "train", "validate", "evaluate", "check_updates", "close"]


def test_without_patience_it_trains_to_its_end_and_tests_the_last_epoch(whole):
    found = whole.validation
    assert (found.trained_epochs, found.is_early, found.tested_epoch) == (EPOCHS, False, EPOCHS)
    assert found.best_epoch == stop(found.curve, EPOCHS)[1] < EPOCHS
    assert whole.evaluation.loss == whole.curve[-1].loss


@pytest.mark.parametrize("patience", [1, 2])
def test_training_stops_after_that_many_epochs_without_a_lower_loss(planned, whole, patience):
    run = train_once(planned(patience=patience), 0)
    epochs, best = stop(whole.validation.curve, patience)
    assert (run.validation.trained_epochs, run.validation.best_epoch) == (epochs, best)
    assert run.validation.is_early == (epochs < EPOCHS)
    assert run.training.losses == whole.training.losses[: epochs * PER_EPOCH]
    assert [point.loss for point in run.curve] == [point.loss for point in whole.curve[:epochs]]
    assert run.evaluation.loss == run.curve[-1].loss


def test_some_training_of_these_tests_stops_early(whole):
    assert stop(whole.validation.curve, 1)[0] < EPOCHS


def test_the_monitor_may_be_the_accuracy(planned, whole):
    run = train_once(planned(monitor="accuracy", tested_epoch="best"), 0)
    accuracies = [point.accuracy for point in whole.validation.curve]
    assert run.validation.best_epoch == 1 + accuracies.index(max(accuracies))
    assert METRICS["held_out_accuracy"].read(run) == max(accuracies)


def test_the_best_epoch_may_be_the_one_that_is_tested(planned, whole):
    run = train_once(planned(tested_epoch="best"), 0)
    best = run.validation.best_epoch
    assert run.validation.tested_epoch == best == whole.validation.best_epoch < EPOCHS
    tested = whole.curve[int(best) - 1]
    assert (run.evaluation.loss, run.evaluation.correct / run.evaluation.examples) == (tested.loss, tested.accuracy)
    assert [point.loss for point in run.curve] == [point.loss for point in whole.curve]


def test_the_metrics_say_how_long_it_trained_and_which_epoch_was_the_best(planned):
    run = train_once(planned(patience=1), 0)
    names = ("trained_epochs", "best_epoch", "held_out_accuracy")
    found = run.validation
    best = found.curve[int(found.best_epoch) - 1].accuracy
    assert [METRICS[name].read(run) for name in names] == [found.trained_epochs, found.best_epoch, best]
    assert [METRICS[name].read(replace(run, validation=None)) for name in names] == [None] * 3


def test_sides_of_a_pair_that_stop_after_different_epochs_are_compared_in_the_steps_that_both_took(planned):
    early, late = train_pair(planned(patience=1), planned(epochs=6), 0, Random(1))
    assert [run.outcome for run in (early, late)] == [RunOutcome.FINISHED] * 2
    assert len(early.training.step_seconds) < len(late.training.step_seconds) == 6 * PER_EPOCH
    assert early.training.losses == late.training.losses[: len(early.training.losses)]
    seconds = [alternation.wall_seconds(run) for run in (early, late)]
    ratios = [new / old for old, new in zip(*seconds, strict=False)]
    assert min(ratios) <= exp(alternation.wall_ratio(early, late)) <= max(ratios)


def test_a_validation_loss_that_is_not_finite_ends_the_training(planned):
    run = train_once(planned("diverges_in_evaluation"), 0)
    assert run.outcome is RunOutcome.DIVERGED
    assert run.problem == NotFinite(figure="validation_loss", value="inf", step=PER_EPOCH, steps=EPOCHS * PER_EPOCH)


def test_a_probe_of_the_length_validates_nothing(planned):
    assert train_once(replace(planned(), evaluations=0, evaluate_after=()), 0).validation is None
