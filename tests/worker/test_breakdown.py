"""Real frameworks divide their steps: the phases train as the step does, add up to it, and are waited for."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import cache
from statistics import median
from typing import Any

import pytest

from pytest_dlbench.data import synthetic
from pytest_dlbench.data.preparation import prepare
from pytest_dlbench.environments import FRAMEWORKS, Framework
from pytest_dlbench.judging.breakdowns import flaw, phase_sum
from pytest_dlbench.model import (
    SGD,
    BatchNorm,
    Conv2D,
    Dense,
    Flatten,
    MaxPool,
    Model,
    Recipe,
    ReLU,
    SoftmaxCrossEntropy,
    infer,
)
from pytest_dlbench.records import Breakdown
from pytest_dlbench.records.reasons import PhaseNotAwaited
from tests.worker.places import place_of
from tests.worker.sessions import BUILDERS, Session, session

# One of each kind: eager, compiled apart, define-by-run, queued by an engine.
DIVIDED = ("pytorch", "jax", "chainer", "mxnet-imperative")
LAYERED = ("pytorch", "jax")
WHOLE = ("input", "forward", "backward", "update")
RECIPE = Recipe(batch_size=128, epochs=1, optimizer=SGD(0.05, momentum=0.9))
LAYERS = (Conv2D(16, 5), BatchNorm(), ReLU(), MaxPool(2), Conv2D(16, 3), ReLU(), Flatten(), Dense(64), ReLU(), Dense(4))
HEAD = SoftmaxCrossEntropy(classes=4)
MODEL = Model(name="small", family="cnn", input_shape=(3, 24, 24), layers=LAYERS, head=HEAD, recipe=RECIPE)
# A pass with one round has six steps: two of each kind to warm up.
STEPS, TAKEN = 8, 6
# A neighbour that computes meanwhile disturbs one try.
TRIES = 10
ROUNDS = 12


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return prepare(synthetic(MODEL.input_shape, 4), tmp_path_factory.mktemp("data"))


@contextmanager
def trained(framework: Framework, data: Any, folder: Any) -> Iterator[Session]:
    """A worker that has taken its first step."""
    with session(framework, folder, is_optimised=True) as asked:
        asked.hello()
        asked.build(infer(MODEL), RECIPE)
        asked.train(data, RECIPE, STEPS, taken=1)
        yield asked


@pytest.fixture(scope="module")
def layers(data, tmp_path_factory):
    """The answer with times of single layers, until they add up to the passes of the network."""

    @cache
    def layers(name):
        place_of(name, "breakdown")
        with trained(FRAMEWORKS[name], data, tmp_path_factory.mktemp(name)) as asked:
            found = asked.ask("break_down", steps=STEPS, rounds=ROUNDS, checks=0, layers=True)
            for _ in range(TRIES):
                if not found.layers or add_up(found):
                    break
                found = asked.ask("break_down", steps=STEPS, rounds=ROUNDS, checks=0, layers=True)
        return found

    return layers


def sums(found: Any) -> list[float]:
    """The forward passes of all layers over that of the network just before, in the median, and the same backward."""
    parts = [("forward", "forward_seconds"), ("backward", "backward_seconds")]
    return [
        median(
            sum(of_layers) / whole
            for *of_layers, whole in zip(
                *(getattr(layer, field) for layer in found.layers), found.phase_seconds[phase], strict=True
            )
        )
        for phase, field in parts
    ]


def add_up(found: Any) -> bool:
    """Whether no layer can be missing, or counted twice, that takes much of the time."""
    return all(0.7 <= ratio <= 1.6 for ratio in sums(found))


@pytest.mark.parametrize("name", LAYERED)
def test_layers_are_those_of_the_network_and_add_up_to_its_passes(name, layers):
    found = layers(name)
    placed = [(one.name, one.layer.kind) for one in infer(MODEL).layers]
    assert [(layer.name, layer.kind) for layer in found.layers] == [*placed, ("loss", "loss")]
    assert add_up(found), sums(found)


def test_most_of_a_convolutional_network_is_in_its_convolutions_normalisation_and_pooling(layers):
    seconds = {layer.name: median(layer.forward_seconds) for layer in layers("pytorch").layers}
    assert sum(seconds[name] for name in ("conv1", "bn1", "pool1", "conv2")) > 0.5 * sum(seconds.values())


def test_a_framework_without_single_layers_has_its_phases_and_the_reason(layers):
    found = layers("chainer")
    assert (found.layers, found.layers_cause, found.layers_what) == ((), "no_layers", "chainer")
    assert tuple(found.phase_seconds) == WHOLE


def asked_for(asked: Session, rounds: int, checks: int) -> Breakdown:
    found = asked.ask("break_down", steps=STEPS, rounds=rounds, checks=checks)
    assert found.cause is None, found
    times = (found.step_seconds, found.phase_seconds, found.copy_seconds)
    return Breakdown(**dict(zip(("step_seconds", "phase_seconds", "copy_seconds"), times, strict=True)))


@pytest.fixture(scope="module")
def seen(data, tmp_path_factory):
    """The losses after steps in phases and after whole steps, and breakdowns until one is sound."""

    @cache
    def seen(name):
        place_of(name, "breakdown")
        with trained(FRAMEWORKS[name], data, tmp_path_factory.mktemp(name)) as asked:
            asked_for(asked, rounds=1, checks=0)
            in_phases = asked.train_on(TAKEN, 2).losses
            found = [asked_for(asked, ROUNDS, checks=5)]
            while flaw(found[-1]) and len(found) < TRIES:
                found.append(asked_for(asked, ROUNDS, checks=5))
            asked.build(infer(MODEL), RECIPE)
            asked.train(data, RECIPE, STEPS, taken=1)
            asked.train_on(0, TAKEN)
            return in_phases, asked.train_on(TAKEN, 2).losses, found[-1]

    return seen


@pytest.mark.parametrize("name", DIVIDED)
def test_steps_in_phases_train_as_whole_steps_do(name, seen):
    in_phases, whole, _ = seen(name)
    assert in_phases == pytest.approx(whole, rel=1e-4)


@pytest.mark.parametrize("name", DIVIDED)
def test_phases_add_up_to_the_step_and_are_waited_for(name, seen):
    *_, found = seen(name)
    assert tuple(found.phase_seconds) == WHOLE
    assert flaw(found) is None, (phase_sum(found), flaw(found))


@pytest.mark.parametrize("name", DIVIDED)
def test_passes_take_most_of_a_convolutional_step(name, seen):
    *_, found = seen(name)
    seconds = {phase: min(each) for phase, each in found.phase_seconds.items()}
    assert seconds["forward"] + seconds["backward"] > seconds["input"] + seconds["update"]


def test_a_phase_that_does_not_wait_for_its_computation_is_caught(data, tmp_path):
    place_of("jax", "breakdown")
    planted = replace(FRAMEWORKS["jax"], builder="unawaited_jax", folders=(BUILDERS,))
    with trained(planted, data, tmp_path) as asked:
        assert isinstance(flaw(asked_for(asked, ROUNDS, checks=5)), PhaseNotAwaited)
