"""Evaluations between the steps of a training."""

from dataclasses import replace

import pytest

from pytest_dlbench.judging.spans import spans
from pytest_dlbench.records import RunOutcome
from pytest_dlbench.running.training import train_once
from tests.running.plans import BATCH, STEPS, plan

BEHIND = (2, 5)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("data")


@pytest.fixture(scope="module")
def evaluated(folder):
    return train_once(plan("numpy_softmax", folder, evaluate_after=BEHIND), 0)


def test_there_is_a_point_behind_each_of_these_steps_and_one_at_the_end(evaluated):
    assert evaluated.outcome is RunOutcome.FINISHED, evaluated.message
    assert [point.step for point in evaluated.curve] == [*BEHIND, STEPS]


def test_the_last_point_is_the_evaluation_of_the_run(evaluated):
    point, final = evaluated.curve[-1], evaluated.evaluation
    assert (point.accuracy, point.loss) == (final.correct / final.examples, final.loss)


def test_a_point_has_the_seconds_of_the_steps_before_it_and_no_others(evaluated):
    steps = evaluated.training.step_seconds
    assert [point.seconds for point in evaluated.curve] == [pytest.approx(sum(steps[:end])) for end in (*BEHIND, STEPS)]


def test_epochs_are_examples_over_those_of_the_split(evaluated, folder):
    examples = plan("numpy_softmax", folder).data.dataset.train_examples
    assert evaluated.curve[0].epoch == BEHIND[0] * BATCH / examples


def test_training_is_the_same_with_evaluations_and_without(evaluated, folder):
    plain = train_once(plan("numpy_softmax", folder), 0)
    assert plain.training.losses == evaluated.training.losses
    assert plain.evaluation.loss == evaluated.evaluation.loss
    assert [point.step for point in plain.curve] == [STEPS]


def test_phases_are_told_once_and_hold_all_their_parts(evaluated):
    assert list(evaluated.usage) == ["hello", "build", "train", "evaluate", "close"]
    assert evaluated.usage["train"].wall_seconds >= sum(evaluated.training.step_seconds)


def test_steps_know_when_they_began_behind_an_evaluation(evaluated):
    training = evaluated.training
    assert [step for step, _ in training.resumed] == list(BEHIND)
    steps = spans(training)
    assert list(steps) == sorted(steps)
    assert steps[BEHIND[0]][0] == training.resumed[0][1] > steps[BEHIND[0] - 1][1]


def test_a_loss_that_is_not_finite_behind_an_evaluation_is_told_with_its_step(folder):
    run = train_once(plan("diverges", folder, evaluate_after=(1,)), 0)
    assert run.outcome is RunOutcome.DIVERGED
    assert run.message == f"the loss became nan at step {len(run.training.losses) + 1} of {STEPS}"


def test_a_test_loss_that_is_not_finite_ends_the_training(folder):
    run = train_once(plan("diverges_in_evaluation", folder, evaluate_after=(2,)), 0)
    assert run.outcome is RunOutcome.DIVERGED
    assert f"behind step 2 of {STEPS}" in run.message
    assert len(run.training.losses) == 2


def test_a_worker_that_takes_fewer_steps_between_evaluations_is_caught(folder):
    run = train_once(plan("skips_steps", folder, evaluate_after=(4,)), 0)
    assert run.outcome is RunOutcome.BROKEN_PROTOCOL
    assert "4 steps were requested, the worker reports 3" in run.message


def test_the_target_stands_in_the_run(folder):
    asked = replace(plan("numpy_softmax", folder), target_accuracy=0.5)
    assert train_once(asked, 0).target_accuracy == 0.5
