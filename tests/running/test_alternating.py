"""Two real workers whose steps alternate: what each measures, and what happens when one of them cannot go on."""

from dataclasses import replace
from itertools import islice
from random import Random

import psutil
import pytest

from pytest_dlbench.judging import alternation
from pytest_dlbench.records import Run, RunOutcome
from pytest_dlbench.records.reasons import SequentialPairs
from pytest_dlbench.running import alternating, launch
from pytest_dlbench.running.alternating import train_pair, turns
from pytest_dlbench.running.pairs import Pairs, UnfinishedError
from pytest_dlbench.running.progress import Silent
from pytest_dlbench.running.run_hooks import NO_HOOKS
from pytest_dlbench.running.training import train_once
from tests.running.specs import spec

STEPS, ALONE = 24, 6


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("data")


@pytest.fixture(scope="module")
def plain(folder):
    return spec("numpy_softmax", folder, steps=STEPS)


@pytest.fixture(scope="module")
def pair(plain):
    return train_pair(plain, plain, 0, Random(1))


def began(run: Run) -> dict[int, float]:
    """When each alternated step began, since the start of its run."""
    return dict(run.training.resumed)


def pairs_of(baseline, candidate):
    kept = []
    pairs = Pairs(
        baseline=baseline,
        candidate=candidate,
        hooks=NO_HOOKS,
        keep=lambda _, run: kept.append(run),
        progress=Silent(),
        limit=3,
        examine=lambda _, run: run,
        repeats=0,
        keeps_invalid=False,
    )
    return pairs, kept


def test_both_train_as_a_run_of_their_own_does(pair, plain):
    alone = train_once(plain, 0)
    assert [run.outcome for run in pair] == [RunOutcome.FINISHED] * 2
    assert [run.training.losses for run in pair] == [alone.training.losses] * 2
    assert [run.evaluation.loss for run in pair] == [alone.evaluation.loss] * 2


def test_the_first_steps_are_taken_alone(pair):
    assert [run.training.alternation.first for run in pair] == [ALONE] * 2
    assert [sorted(began(run)) for run in pair] == [list(range(ALONE, STEPS))] * 2


def test_every_step_has_its_wall_and_processor_seconds(pair):
    for run in pair:
        assert len(run.training.step_seconds) == STEPS
        assert len(run.training.alternation.cpu_seconds) == STEPS - ALONE
        assert min(run.training.alternation.cpu_seconds) > 0


def test_every_two_steps_of_each_side_are_in_the_order_abba_or_baab():
    order = "".join("AB"[side] for side in islice(turns(Random(1)), 400))
    assert {order[place : place + 4] for place in range(0, len(order), 4)} == {"ABBA", "BAAB"}


def test_curves_have_the_same_points_as_alone(folder):
    asked = spec("numpy_softmax", folder, steps=STEPS, evaluate_after=(4, 12))
    one, other = train_pair(asked, asked, 0, Random(1))
    points = [(point.step, point.loss) for point in train_once(asked, 0).curve]
    assert [(point.step, point.loss) for point in one.curve] == points
    assert [(point.step, point.loss) for point in other.curve] == points


def test_training_is_charged_its_own_steps_only(folder):
    slow = spec("paced", folder, steps=STEPS)
    one, other = train_pair(slow, slow, 0, Random(1))
    for run in (one, other):
        alone = run.usage["train"].wall_seconds - sum(run.training.step_seconds[ALONE:])
        assert 0 < sum(run.training.step_seconds[:ALONE]) < alone < run.wall_seconds


def test_idle_threads_of_the_double_sleep(pair):
    assert [run.training.alternation.idle_cpus for run in pair] == pytest.approx([0, 0], abs=0.01)


def test_waiting_threads_are_told_to_sleep_and_that_is_recorded(pair):
    for run in pair:
        assert launch.PASSIVE.items() <= run.versions.items()


@pytest.mark.parametrize("place", [0, 1])
def test_if_one_fails_the_other_goes_on_alone(folder, plain, place):
    sides = [plain, plain]
    sides[place] = spec("diverges_late", folder, steps=STEPS)
    runs = train_pair(*sides, 0, Random(1))
    assert runs[place].outcome is RunOutcome.DIVERGED
    assert runs[1 - place].outcome is RunOutcome.FINISHED
    assert len(runs[1 - place].training.step_seconds) == STEPS


def test_a_crash_between_two_turns_is_an_outcome_and_keeps_what_was_measured(folder, plain):
    crashed, finished = train_pair(spec("crashes_late", folder, steps=STEPS), plain, 0, Random(1))
    assert (crashed.outcome, finished.outcome) == (RunOutcome.CRASHED, RunOutcome.FINISHED)
    assert len(crashed.training.step_seconds) > ALONE
    assert "SIGSEGV" in crashed.message


def test_if_the_first_fails_before_its_turn_the_second_does_not_start(folder, plain):
    (run,) = train_pair(spec("crashes", folder, steps=STEPS), plain, 0, Random(1))
    assert run.outcome is RunOutcome.CRASHED


def test_no_process_is_left(pair):
    assert psutil.Process().children(recursive=True) == []


class TestPairs:
    def test_say_that_steps_alternate(self, plain):
        pairs, kept = pairs_of(plain, plain)
        old, new = pairs.next()
        assert pairs.sequential is None
        assert alternation.is_alternating(old, new)
        assert len(kept) == 2

    def test_are_sequential_where_a_side_spins(self, folder, plain):
        pairs, kept = pairs_of(plain, spec("spins", folder, steps=STEPS))
        old, new = pairs.next()
        assert (pairs.sequential.cause, pairs.sequential.framework) == ("spinning", "spins")
        assert pairs.sequential.cpus > alternating.MOST_IDLE_CPUS
        assert not alternation.is_alternating(old, new)
        # The pair that was disturbed is in the journal, too.
        assert len(kept) == 4

    def test_are_sequential_where_memory_is_short(self, plain, monkeypatch):
        monkeypatch.setattr(alternating, "MEMORY_NEEDED", 1e9)
        pairs, kept = pairs_of(plain, plain)
        old, new = pairs.next()
        assert pairs.sequential == SequentialPairs(cause="memory")
        assert not alternation.is_alternating(old, new)
        assert len(kept) == 2

    @pytest.mark.parametrize(
        ("changes", "cause"),
        [({"purpose": "inference"}, "inference"), ({"input": "pipeline"}, "pipeline"), ({"device": "gpu"}, "device")],
    )
    def test_are_sequential_where_steps_cannot_alternate(self, plain, changes, cause):
        where = {"device": "case", "input": "recipe"}
        changed = plain
        for name, value in changes.items():
            part = where.get(name)
            own = {name: value} if part is None else {part: replace(getattr(plain, part), **{name: value})}
            changed = replace(changed, **own)
        assert pairs_of(plain, changed)[0].sequential == SequentialPairs(cause=cause)

    def test_keep_both_runs_of_a_pair_that_did_not_finish(self, folder, plain):
        pairs, kept = pairs_of(plain, spec("diverges_late", folder, steps=STEPS))
        with pytest.raises(UnfinishedError):
            pairs.next()
        assert {run.outcome for run in kept} == {RunOutcome.DIVERGED, RunOutcome.FINISHED}
