"""Two real workers whose steps alternate: what each measures, and what happens when one of them cannot go on."""

import os
import signal
from contextlib import contextmanager
from dataclasses import replace
from itertools import islice
from math import inf
from pathlib import Path
from random import Random
from time import monotonic

import psutil
import pytest

from pytest_dlbench.judging import METRICS, alternation
from pytest_dlbench.records import Run, RunOutcome
from pytest_dlbench.records.reasons import NotExamined, SequentialPairs
from pytest_dlbench.running import alternating, connection, dialogue, launch, pinning
from pytest_dlbench.running.alternating import train_pair, turns
from pytest_dlbench.running.pairs import Pairs, UnfinishedError
from pytest_dlbench.running.progress import Silent
from pytest_dlbench.running.run_hooks import NO_HOOKS
from pytest_dlbench.running.training import Attempt, train_once
from tests.running.specs import spec

STEPS, ALONE = 24, 6


@pytest.fixture(scope="module", autouse=True)
def one_after_the_other():
    """Workers start as those of a large network; tests/running/test_starting_together.py has the others."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(alternating, "FRAMEWORK_BYTES", inf)
        yield


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


def unlocked_pairs(baseline, candidate, recorded=lambda *_: None, examine=lambda _, run: run):
    kept = []
    pairs = Pairs(
        baseline=baseline,
        candidate=candidate,
        hooks=NO_HOOKS,
        keep=lambda _, run: kept.append(run),
        progress=Silent(),
        limit=3,
        examine=examine,
        repeats=0,
        keeps_invalid=False,
        recorded=recorded,
        order_seed=1,
    )
    return pairs, kept


@contextmanager
def pairs_of(*specs, **given):
    """Pairs with their device locked, and the runs that they keep."""
    pairs, kept = unlocked_pairs(*specs, **given)
    with pairs.alone():
        yield pairs, kept


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
    assert (crashed.problem.cause, crashed.problem.number) == ("signal", signal.SIGSEGV)


@pytest.mark.parametrize("lost", [0, 1])
@pytest.mark.parametrize("memory", [0, inf])
def test_a_side_that_cannot_be_started_fails_and_no_process_is_left(plain, lost, memory, monkeypatch):
    """If only the second one cannot, the first goes on alone; ``memory`` decides whether both start at once."""
    monkeypatch.setattr(alternating, "FRAMEWORK_BYTES", memory)
    sides = [plain, plain]
    sides[lost] = replace(plain, place=replace(plain.place, python=Path("/nonexistent/python")))
    runs = train_pair(*sides, 0, Random(1))
    assert runs[lost].outcome is RunOutcome.FAILED
    assert "/nonexistent/python" in runs[lost].problem.said
    assert [run.outcome for place, run in enumerate(runs) if place != lost] in ([], [RunOutcome.FINISHED])
    assert len(runs) == 2 or lost == 0
    assert no_process_is_left()


def test_a_side_that_hangs_times_out_and_the_other_goes_on_alone(folder, plain):
    hanging = spec("hangs_late", folder, steps=STEPS, timeout_seconds=3.0)
    hung, finished = train_pair(hanging, plain, 0, Random(1))
    assert (hung.outcome, finished.outcome) == (RunOutcome.TIMEOUT, RunOutcome.FINISHED)
    assert len(finished.training.step_seconds) == STEPS
    assert no_process_is_left()


def test_the_time_of_the_other_side_does_not_count_towards_a_timeout(plain, monkeypatch):
    ahead = [0.0]
    for module in (dialogue, connection):
        monkeypatch.setattr(module, "monotonic", lambda: monotonic() + ahead[0])
    with Attempt(replace(plain, alternates=True), plain.place, 0, NO_HOOKS) as attempt:
        attempt.proceed()
        ahead[0] = 2 * plain.timeout_seconds
        while attempt.proceed():
            pass
    assert attempt.run().outcome is RunOutcome.FINISHED


class Disturbing:
    """A sampler that does something between two turns: in its fourth phase, after import, build and steps alone."""

    def __init__(self, pid, action):
        self.pid, self.action, self.phases = pid, action, 0

    def begin(self):
        self.phases += 1

    def sample(self):
        if self.phases == 4:
            self.action(self.pid)

    def end(self):
        return {}


def disturbed(folder, action):
    """Two sides of half a second, of which the first has that sampler."""
    sides = [spec("paced", folder, steps=240, sample_period_seconds=0.02) for _ in range(2)]
    hooks = replace(NO_HOOKS, samplers=(lambda pid: Disturbing(pid, action),))
    return train_pair(*sides, 0, Random(1), (hooks, NO_HOOKS))


class Watching(Random):
    """An order that notes the cores of the driver as it is drawn: between two turns."""

    def __init__(self):
        super().__init__(1)
        self.cores = set()

    def randrange(self, *bounds):
        self.cores.add(frozenset(pinning.in_force(0)))
        return super().randrange(*bounds)


def test_the_driver_has_the_cores_of_the_workers_while_they_take_turns(plain):
    before, order = pinning.in_force(0), Watching()
    run, _ = train_pair(plain, plain, 0, order)
    assert order.cores == {frozenset(run.cores)}
    assert pinning.in_force(0) == before


def test_samples_between_turns_are_taken_on_other_cores(folder):
    sampled = set()
    run, _ = disturbed(folder, lambda _: sampled.add(frozenset(pinning.in_force(0))))
    every = frozenset(pinning.in_force(0))
    # On a machine with no others, the driver shares those of the workers.
    assert sampled == {every - frozenset(run.cores) or every}


def test_a_worker_that_is_killed_is_a_crash_and_the_other_goes_on_alone(folder):
    killed, finished = disturbed(folder, lambda pid: os.kill(pid, signal.SIGKILL))
    assert (killed.outcome, finished.outcome) == (RunOutcome.CRASHED, RunOutcome.FINISHED)
    assert no_process_is_left()


def test_an_interrupt_between_two_turns_ends_both_workers(folder):
    def interrupt(_):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        disturbed(folder, interrupt)
    assert no_process_is_left()


def test_the_neighbour_does_not_change_the_peak_of_memory(folder, plain):
    alone = train_once(plain, 0)
    shared, large = train_pair(plain, spec("eats_memory", folder, steps=STEPS), 0, Random(1))
    assert METRICS["peak_rss"].read(large) > METRICS["peak_rss"].read(alone) + 2**28
    assert METRICS["peak_rss"].read(shared) == pytest.approx(METRICS["peak_rss"].read(alone), rel=0.03)


@pytest.mark.parametrize("memory", [0, inf])
@pytest.mark.parametrize("steps", [(1, 1), (1, STEPS), (STEPS, 1)])
def test_a_side_that_finishes_before_its_turn_has_its_pair(folder, steps, memory, monkeypatch):
    """``memory`` decides whether both start at once."""
    monkeypatch.setattr(alternating, "FRAMEWORK_BYTES", memory)
    runs = train_pair(*(spec("numpy_softmax", folder, steps=number) for number in steps), 0, Random(1))
    assert [run.outcome for run in runs] == [RunOutcome.FINISHED] * 2
    assert tuple(len(run.training.losses) for run in runs) == steps
    assert no_process_is_left()


def test_if_the_first_fails_before_its_turn_the_second_does_not_start(folder, plain):
    (run,) = train_pair(spec("crashes", folder, steps=STEPS), plain, 0, Random(1))
    assert run.outcome is RunOutcome.CRASHED


def test_no_process_is_left(pair):
    assert no_process_is_left()


def no_process_is_left():
    return psutil.Process().children(recursive=True) == []


class TestPairs:
    def test_say_that_steps_alternate(self, plain):
        with pairs_of(plain, plain) as (pairs, kept):
            old, new = pairs.next()
        assert pairs.sequential is None
        assert alternation.is_alternating(old, new)
        assert len(kept) == 2

    def test_are_sequential_where_a_side_spins(self, folder):
        # All have one core: in some microseconds, the kernel may not run a thread that spins at all.
        with pairs_of(*(spec(name, folder, steps=STEPS) for name in ("paced", "spins"))) as (pairs, kept):
            old, new = pairs.next()
        assert (pairs.sequential.cause, pairs.sequential.framework) == ("spinning", "spins")
        assert pairs.sequential.cpus > alternating.MOST_IDLE_CPUS
        assert not alternation.is_alternating(old, new)
        # The pair that was disturbed is in the journal, too.
        assert len(kept) == 4

    def test_are_sequential_where_memory_is_short(self, plain, monkeypatch):
        monkeypatch.setattr(alternating, "MEMORY_NEEDED", 1e9)
        with pairs_of(plain, plain) as (pairs, kept):
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
        assert unlocked_pairs(plain, changed)[0].sequential == SequentialPairs(cause=cause)

    def test_that_were_recorded_are_judged_as_if_they_had_just_run(self, folder):
        paced, spins = (spec(name, folder, steps=STEPS) for name in ("paced", "spins"))
        with pairs_of(paced, spins) as (first, kept):
            first.next()
        recorded = iter([tuple(kept[:2]), tuple(kept[2:])])
        with pairs_of(paced, spins, recorded=lambda *_: next(recorded, None)) as (again, kept_again):
            old, new = again.next()
        assert again.sequential == first.sequential
        assert not alternation.is_alternating(old, new)
        assert kept_again == []

    def test_of_a_single_step_have_both_runs(self, folder):
        single = spec("numpy_softmax", folder, steps=1)
        with pairs_of(single, single) as (pairs, kept):
            old, new = pairs.next()
        assert len(kept) == 2
        assert not alternation.is_alternating(old, new)

    @pytest.mark.parametrize("examined", [0, 1])
    def test_keep_both_runs_of_a_pair_whose_examination_is_prevented(self, plain, examined):
        seen = []

        def examine(_, run):
            if len(seen) == examined:
                raise KeyboardInterrupt
            seen.append(run)
            return run

        with pairs_of(plain, plain, examine=examine) as (pairs, kept), pytest.raises(KeyboardInterrupt):
            pairs.next()
        assert [run.outcome for run in kept] == [RunOutcome.FINISHED] * 2
        prevented = (NotExamined(said="KeyboardInterrupt"),)
        assert [run.invalid for run in kept] == [()] * examined + [prevented] * (2 - examined)
        assert [len(runs) for runs in pairs.counted.values()] == [1, 1]

    def test_keep_a_run_that_was_made_alone_too(self, plain):
        def examine(_, run):
            raise KeyboardInterrupt

        with pairs_of(plain, plain, examine=examine) as (pairs, kept):
            pairs.sequential = SequentialPairs(cause="memory")
            with pytest.raises(KeyboardInterrupt):
                pairs.next()
        assert [run.invalid for run in kept] == [(NotExamined(said="KeyboardInterrupt"),)]

    def test_keep_both_runs_of_a_pair_that_did_not_finish(self, folder, plain):
        late = spec("diverges_late", folder, steps=STEPS)
        with pairs_of(plain, late) as (pairs, kept), pytest.raises(UnfinishedError):
            pairs.next()
        assert {run.outcome for run in kept} == {RunOutcome.DIVERGED, RunOutcome.FINISHED}
