"""Alternating steps with a Python of its own on either side, as after an update of Python."""

import math
from dataclasses import replace
from random import Random

import pytest

from pytest_dlbench.environments import FRAMEWORKS
from pytest_dlbench.environments.building import EnvironmentStore
from pytest_dlbench.environments.placing import Place
from pytest_dlbench.judging import METRICS, alternation
from pytest_dlbench.judging.pairs import Pair, difference
from pytest_dlbench.records import RunOutcome
from pytest_dlbench.running.alternating import MOST_IDLE_CPUS, train_pair
from pytest_dlbench.running.progress import Silent
from tests.running.specs import spec
from tests.worker import interpreters
from tests.worker.places import place_of

STEPS = 24


@pytest.fixture(params=[("3.9", "3.13"), ("3.13", "3.6")], ids="-".join)
def versions(request):
    for version in request.param:
        interpreters.found(version)
    return request.param


def test_two_pythons_take_turns(versions, tmp_path):
    sides = [_side(version, tmp_path) for version in versions]
    old, new = train_pair(*sides, 0, Random(1))
    assert [(run.outcome, run.message) for run in (old, new)] == [(RunOutcome.FINISHED, "")] * 2
    assert [run.versions["python"].rpartition(".")[0] for run in (old, new)] == list(versions)
    assert [run.versions["numpy"] for run in (old, new)] == [interpreters.NUMPY[version] for version in versions]
    assert new.training.losses == pytest.approx(old.training.losses, rel=1e-5)
    assert [len(run.training.step_seconds) for run in (old, new)] == [STEPS] * 2
    assert [run.training.alternation.idle_cpus <= MOST_IDLE_CPUS for run in (old, new)] == [True] * 2
    pair = Pair(old=old, new=new)
    assert difference(METRICS["step_time"], pair) == alternation.wall_ratio(old, new)


def test_two_frameworks_with_pythons_of_their_own_take_turns(tmp_path):
    # The pair of such frameworks that is imported most quickly.
    names = ("chainer", "pytorch-1.0")
    sides = [
        replace(
            spec(name, tmp_path, steps=STEPS, timeout_seconds=120.0), framework=FRAMEWORKS[name], place=place_of(name)
        )
        for name in names
    ]
    old, new = train_pair(*sides, 0, Random(1))
    assert [(run.outcome, run.message) for run in (old, new)] == [(RunOutcome.FINISHED, "")] * 2
    assert new.versions["python"].startswith("3.6.") != old.versions["python"].startswith("3.6.")
    assert new.training.losses == pytest.approx(old.training.losses, rel=1e-5)
    assert [run.training.alternation.idle_cpus <= MOST_IDLE_CPUS for run in (old, new)] == [True] * 2
    assert math.isfinite(difference(METRICS["step_time"], Pair(old=old, new=new)))


def _side(version, folder):
    environment = interpreters.ENVIRONMENTS[version]
    python = EnvironmentStore().build(environment, Silent()).python
    plain = spec("numpy_softmax", folder, steps=STEPS)
    return replace(plain, place=Place(python=python, environment=environment.name, caches=folder / "caches" / version))
