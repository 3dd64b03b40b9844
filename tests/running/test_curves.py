"""Evaluations between the steps of a training."""

from dataclasses import replace

import pytest

from pytest_dlbench.judging.spans import spans
from pytest_dlbench.records import RunOutcome
from pytest_dlbench.records.problems import NotFinite
from pytest_dlbench.reporting import problems
from pytest_dlbench.running.training import train_once
from tests.running.specs import BATCH, STEPS, spec

EVALUATED_AFTER = (2, 5)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("data")


@pytest.fixture(scope="module")
def evaluated(folder):
    return train_once(spec("numpy_softmax", folder, evaluate_after=EVALUATED_AFTER), 0)


def test_the_curve_has_a_point_after_each_requested_step_and_at_the_end(evaluated):
    assert evaluated.outcome is RunOutcome.FINISHED, problems.of_run(evaluated)
    assert [point.step for point in evaluated.curve] == [*EVALUATED_AFTER, STEPS]


def test_the_last_point_is_the_evaluation_of_the_run(evaluated):
    point, final = evaluated.curve[-1], evaluated.evaluation
    assert (point.accuracy, point.loss) == (final.correct / final.examples, final.loss)


def test_a_point_has_the_seconds_of_the_steps_before_it_only(evaluated):
    steps = evaluated.training.step_seconds
    assert [point.seconds for point in evaluated.curve] == [
        pytest.approx(sum(steps[:end])) for end in (*EVALUATED_AFTER, STEPS)
    ]


def test_epochs_are_examples_divided_by_the_size_of_the_split(evaluated, folder):
    examples = spec("numpy_softmax", folder).data.dataset.train_examples
    assert evaluated.curve[0].epoch == EVALUATED_AFTER[0] * BATCH / examples


def test_evaluations_do_not_change_the_training(evaluated, folder):
    plain = train_once(spec("numpy_softmax", folder), 0)
    assert plain.training.losses == evaluated.training.losses
    assert plain.evaluation.loss == evaluated.evaluation.loss
    assert [point.step for point in plain.curve] == [STEPS]


def test_each_phase_is_reported_once_with_all_its_parts(evaluated):
    assert list(evaluated.usage) == ["hello", "build", "train", "evaluate", "check_updates", "close"]
    assert evaluated.usage["train"].wall_seconds >= sum(evaluated.training.step_seconds)


def test_steps_after_an_evaluation_have_the_time_when_they_began(evaluated):
    training = evaluated.training
    assert [step for step, _ in training.resumed] == list(EVALUATED_AFTER)
    steps = spans(training)
    assert list(steps) == sorted(steps)
    assert steps[EVALUATED_AFTER[0]][0] == training.resumed[0][1] > steps[EVALUATED_AFTER[0] - 1][1]


def test_a_non_finite_loss_after_an_evaluation_is_reported_with_its_step(folder):
    run = train_once(spec("diverges", folder, evaluate_after=(1,)), 0)
    assert run.outcome is RunOutcome.DIVERGED
    assert run.problem == NotFinite(figure="loss", value="nan", step=len(run.training.losses) + 1, steps=STEPS)


def test_a_non_finite_test_loss_ends_the_training(folder):
    run = train_once(spec("diverges_in_evaluation", folder, evaluate_after=(2,)), 0)
    assert run.outcome is RunOutcome.DIVERGED
    assert run.problem == NotFinite(figure="test_loss", value="inf", step=2, steps=STEPS)
    assert len(run.training.losses) == 2


def test_a_worker_that_takes_fewer_steps_between_evaluations_is_caught(folder):
    run = train_once(spec("skips_steps", folder, evaluate_after=(4,)), 0)
    assert run.outcome is RunOutcome.BROKEN_PROTOCOL
    assert (run.problem.unit, run.problem.requested, run.problem.reported) == ("steps", 4, 3)


def test_a_run_records_its_target(folder):
    asked = replace(spec("numpy_softmax", folder), target_accuracy=0.5)
    assert train_once(asked, 0).target_accuracy == 0.5
