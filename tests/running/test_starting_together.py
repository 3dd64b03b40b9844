"""Both workers of a pair import, build and take their first steps at the same time, where cores and memory allow it."""

import os
import signal
from dataclasses import replace
from random import Random
from threading import Timer
from time import monotonic

import psutil
import pytest

from pytest_dlbench.records import RunOutcome
from pytest_dlbench.running import alternating, pinning
from pytest_dlbench.running.alternating import train_pair
from pytest_dlbench.running.run_hooks import NO_HOOKS
from pytest_dlbench.running.training import train_once
from tests.running.specs import spec

STEPS, ALONE = 24, 6
# As in tests/doubles/builders/computes_first.py.
SECONDS = 1.0

pytestmark = pytest.mark.skipif(os.cpu_count() == 1, reason="the second worker needs a core of its own")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("data")


@pytest.fixture(scope="module")
def plain(folder):
    return spec("numpy_softmax", folder, steps=STEPS)


@pytest.fixture(scope="module")
def pair(plain):
    return train_pair(plain, plain, 1, Random(1))


def flags(runs):
    return [run.training.alternation.started_together for run in runs]


def test_they_say_so(pair):
    assert flags(pair) == [True, True]


@pytest.mark.parametrize(("name", "most"), [("FRAMEWORK_BYTES", 2**60), ("COPIES", 2**60)])
def test_the_first_pair_of_what_may_not_fit_starts_one_after_the_other(plain, monkeypatch, name, most):
    assert flags(train_pair(plain, plain, 0, Random(1))) == [True, True]
    monkeypatch.setattr(alternating, name, most)
    assert flags(train_pair(plain, plain, 0, Random(1))) == [False, False]
    assert flags(train_pair(plain, plain, 1, Random(1))) == [True, True]


def test_without_a_second_core_they_start_one_after_the_other(plain):
    narrow = replace(plain, cores=pinning.cores(1))
    assert flags(train_pair(narrow, narrow, 1, Random(1))) == [False, False]


def test_both_train_as_a_run_of_their_own_does(pair, plain):
    alone = train_once(plain, 1)
    assert [run.training.losses for run in pair] == [alone.training.losses] * 2
    assert [run.evaluation.loss for run in pair] == [alone.evaluation.loss] * 2


def test_steps_alternate_on_the_same_cores(pair):
    assert [run.cores for run in pair] == [tuple(pinning.cores(1))] * 2
    assert [run.training.alternation.first for run in pair] == [ALONE] * 2


class Cores:
    """A sampler that notes which cores the worker has in each phase."""

    def __init__(self, pid):
        self.pid, self.found = pid, []

    def begin(self):
        self.found.append(pinning.in_force(self.pid))

    def sample(self):
        pass

    def end(self):
        return {}


def test_before_that_each_has_cores_of_its_own(plain):
    seen = []

    def noted(pid):
        seen.append(Cores(pid))
        return seen[-1]

    hooks = replace(NO_HOOKS, samplers=(noted,))
    train_pair(plain, plain, 1, Random(1), (hooks, hooks))
    # Import, build and the first steps; after those that alternate, evaluation.
    (one, *_), (other, *_) = (set(sampler.found[:3]) for sampler in seen)
    assert not set(one) & set(other)
    assert seen[0].found[4] == seen[1].found[4]


@pytest.mark.parametrize("place", [0, 1])
def test_if_one_fails_the_other_goes_on_alone(folder, plain, place):
    sides = [plain, plain]
    sides[place] = spec("crashes", folder, steps=STEPS)
    runs = train_pair(*sides, 1, Random(1))
    assert runs[place].outcome is RunOutcome.CRASHED
    assert runs[1 - place].outcome is RunOutcome.FINISHED
    assert len(runs[1 - place].training.step_seconds) == STEPS


class Interrupting(Cores):
    def begin(self):
        super().begin()
        if len(self.found) == 3:
            raise KeyboardInterrupt


def test_an_interrupt_does_not_wait_for_the_other_one(folder, plain):
    began = monotonic()
    with pytest.raises(KeyboardInterrupt):
        train_pair(
            plain,
            spec("hangs_first", folder, steps=STEPS),
            1,
            Random(1),
            (replace(NO_HOOKS, samplers=(Interrupting,)), NO_HOOKS),
        )
    # It hangs for an hour, and may for a minute.
    assert monotonic() - began < 30
    assert psutil.Process().children(recursive=True) == []


@pytest.fixture
def interruptible():
    """SIGINT interrupts: shells make their background jobs ignore it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("interruptible")
def test_an_interrupt_does_not_wait_for_the_other_one_to_start(folder, plain):
    began = monotonic()
    # The first one has long taken its first steps by then.
    interrupt = Timer(5.0, os.kill, (os.getpid(), signal.SIGINT))
    interrupt.start()
    with pytest.raises(KeyboardInterrupt):
        train_pair(plain, spec("hangs_first", folder, steps=STEPS), 1, Random(1))
    assert monotonic() - began < 30
    assert psutil.Process().children(recursive=True) == []


def test_what_the_other_one_computed_meanwhile_is_not_foreign(folder, monkeypatch):
    busy = spec("computes_first", folder, steps=STEPS, sample_period_seconds=0.05)
    raw = []
    apart = alternating._apart

    def kept(one, other):
        raw.extend((one.run(), other.run()))
        return apart(one, other)

    monkeypatch.setattr(alternating, "_apart", kept)
    own = train_pair(busy, busy, 1, Random(1))
    for before, after in zip(raw, own, strict=True):
        foreign = before.usage["train"].foreign_cpus - after.usage["train"].foreign_cpus
        assert foreign * before.usage["train"].wall_seconds > SECONDS / 2
