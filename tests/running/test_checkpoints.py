"""A training that is saved, and goes on in a fresh process: what is recorded, and what is caught."""

from dataclasses import replace

import pytest

from pytest_dlbench.judging import METRICS
from pytest_dlbench.model import SGD, Dense, Dropout, Flatten
from pytest_dlbench.records import Run, RunOutcome
from pytest_dlbench.records.problems import NotResumed
from pytest_dlbench.reporting import problems
from pytest_dlbench.running import checkpoints, messages
from pytest_dlbench.running.failures import NotDoneError
from pytest_dlbench.running.training import train_once
from pytest_dlbench.storing import Entry, Journal, read_journal
from tests.running.specs import context, spec


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("data")


@pytest.fixture(scope="module")
def planned(folder):
    def of(builder):
        usual = spec(builder, folder, is_saved=True)
        return replace(usual, recipe=replace(usual.recipe, optimizer=SGD(0.05, momentum=0.9)))

    return of


@pytest.fixture(scope="module")
def saved(planned):
    return train_once(planned("saves"), 0)


def test_a_training_that_goes_on_in_a_fresh_process_has_the_same_losses(saved):
    assert saved.outcome is RunOutcome.FINISHED, problems.of_run(saved)
    found = saved.checkpoint
    assert found.losses == found.resumed_losses
    assert len(found.losses) == 1 + len(found.numbers) >= 4
    assert (found.deviation, found.bound, found.mechanism, found.not_kept) == (0.0, 1e-5, "numpy.savez", ())


def test_the_time_and_the_size_of_a_checkpoint_are_metrics(saved):
    names = ("checkpoint_write_time", "checkpoint_read_time", "checkpoint_bytes")
    found = saved.checkpoint
    values = [METRICS[name].read(saved) for name in names]
    assert values == [found.write_seconds, found.read_seconds, found.size_bytes]
    # 20×3 weights and 3 biases, once more as velocities, and what the format needs.
    assert 2 * 63 * 4 < found.size_bytes < 5000
    assert all(0 < seconds < saved.wall_seconds for seconds in values[:2])


def test_a_checkpoint_changes_nothing_of_the_training_and_its_phases(planned, saved):
    plain = train_once(replace(planned("saves"), is_saved=False), 0)
    assert plain.checkpoint is None
    assert plain.training.losses == saved.training.losses
    assert plain.evaluation.loss == saved.evaluation.loss
    assert list(plain.usage) == list(saved.usage)


@pytest.mark.parametrize(("builder", "step"), [("forgets_momentum", 2), ("forgets_weights", 0)])
def test_state_that_is_not_restored_is_caught(planned, builder, step):
    run = train_once(planned(builder), 0)
    assert run.outcome is RunOutcome.FAILED
    assert isinstance(run.problem, NotResumed)
    assert run.problem.step == step
    assert run.problem.deviation > 1e-3 > run.problem.bound
    assert run.checkpoint.resumed_losses[step] == run.problem.losses[1] != run.problem.losses[0]
    assert run.training is not None


def test_a_file_that_is_damaged_is_named_as_the_cause(planned):
    run = train_once(planned("spoils_checkpoints"), 0)
    assert run.outcome is RunOutcome.FAILED
    cause = "the checkpoint (numpy.savez) cannot be read in a fresh process: BadZipFile: "
    assert run.message.startswith(cause)
    assert run.checkpoint.read_seconds is None


def test_a_builder_without_checkpoints_is_unsupported_before_it_trains(planned):
    run = train_once(planned("numpy_softmax"), 0)
    assert run.outcome is RunOutcome.UNSUPPORTED
    assert "the builder numpy_softmax has no module checkpoint" in run.message
    assert run.training is None


@pytest.fixture
def written(planned):
    answer = messages.Saved(seconds=1.0, losses=("2.0", "1.0"), size_bytes=1, mechanism="any")
    return checkpoints.written(planned("saves"), answer, (0,))


@pytest.mark.parametrize("losses", [("2.0",), ("2.0", "nan"), ("2.0", "1.0001"), ("2.0", "1.0", "1.0")])
def test_losses_that_are_missing_not_finite_or_other_ones_are_refused(written, losses):
    found = checkpoints.read(written, messages.Resumed(seconds=1.0, losses=losses))
    with pytest.raises(NotDoneError):
        checkpoints.require_same(found)


@pytest.mark.parametrize("losses", [("2.0",), ("2.0", "nan"), ("inf", "1.0")])
def test_a_loss_that_is_missing_or_not_finite_is_read_from_a_journal_as_it_was(written, losses, tmp_path):
    found = checkpoints.read(written, messages.Resumed(seconds=1.0, losses=losses))
    with pytest.raises(NotDoneError) as raised:
        checkpoints.require_same(found)
    problem = raised.value.problem
    assert problem.deviation is None
    run = Run(
        case="saved",
        index=0,
        seed=1,
        outcome=RunOutcome.FAILED,
        problem=problem,
        began="2026-11-29T10:00:00.000+00:00",
        wall_seconds=1.0,
        checkpoint=found,
    )
    journal = Journal(tmp_path)
    journal.append(Entry(run=run, context=context()))
    assert [read.run for read in read_journal(journal.path)] == [run]


def test_losses_within_the_bound_or_without_one_are_not(written):
    answer = messages.Resumed(seconds=1.0, losses=("2.0", "1.000001"))
    found = checkpoints.read(written, answer)
    checkpoints.require_same(found)
    assert found.deviation == pytest.approx(1e-6, rel=1e-3)
    checkpoints.require_same(replace(checkpoints.read(written, replace(answer, losses=("9", "9"))), bound=None))


def test_networks_that_draw_random_numbers_have_no_bound_where_their_state_is_not_kept(folder):
    dropping = spec("saves", folder, layers=(Flatten(), Dropout(0.5), Dense(3)))
    kept = messages.Saved(seconds=1.0, losses=("1.0",), size_bytes=1, mechanism="any")
    lost = replace(kept, not_kept=("random numbers",))
    assert [checkpoints.written(dropping, answer, ()).bound for answer in (kept, lost)] == [1e-5, None]
