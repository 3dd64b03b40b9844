"""Two data-parallel workers of a framework have the losses of one: with its own exchange of gradients."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from pytest_dlbench.data import synthetic
from pytest_dlbench.data.preparation import prepare
from pytest_dlbench.environments import DEVICES, FRAMEWORKS, Framework
from pytest_dlbench.environments.supports import has_workers
from pytest_dlbench.model import SGD, Conv2D, Dense, Flatten, MaxPool, Model, Recipe, ReLU, SoftmaxCrossEntropy
from pytest_dlbench.planning.plan import RunSettings
from pytest_dlbench.records import Machine, Run, RunOutcome
from pytest_dlbench.running.training import train_once
from tests.worker.places import place_of

BUILDERS = Path(__file__).parents[1] / "doubles" / "builders"
# Its exchange is for GPUs only.
WITHOUT_EXCHANGE = "pytorch-1.0"
PARALLEL = sorted(name for name, one in FRAMEWORKS.items() if has_workers(one) and name != WITHOUT_EXCHANGE)
# Of losses, relative. Rounding alone: the sum over a batch is that of two parts.
BOUNDS = {"float64": 1e-12, "float32": 1e-5}
STEPS = 10
MACHINE = Machine(name="any", cpu_model="any", cores=2, memory_gib=8, os_family="Linux")
SETTINGS = RunSettings(machine=MACHINE, scale="quick", threads=1, seed=3, timeout_seconds=300.0)
# Momentum and weight decay reveal a wrong optimiser, and gradients that are summed.
RECIPE = Recipe(batch_size=16, epochs=1, optimizer=SGD(0.02, momentum=0.9, weight_decay=1e-4))
MODEL = Model(
    name="cnn",
    family="cnn",
    input_shape=(1, 12, 12),
    layers=(Conv2D(8, 3), ReLU(), MaxPool(2), Flatten(), Dense(16), ReLU(), Dense(10)),
    head=SoftmaxCrossEntropy(classes=10),
    recipe=RECIPE,
)


def train(framework: Framework, workers: int, precision: str = "float32") -> Run:
    settings = replace(SETTINGS, workers=workers)
    data = synthetic(MODEL.input_shape, 10)
    prepare(data)
    recipe = replace(RECIPE, precision=precision)
    spec = settings.spec(framework, MODEL, data, DEVICES["cpu"], recipe=recipe, steps=STEPS)
    return train_once(spec, 0)


def deviation(run: Run, other: Run) -> float:
    """The largest relative difference between the losses."""
    ours, theirs = (np.array(one.training.losses) for one in (run, other))
    assert len(ours) == len(theirs) == STEPS
    return float(np.max(np.abs(ours - theirs) / np.abs(theirs)))


def test_a_framework_whose_exchange_is_for_gpus_only_is_unsupported():
    place_of(WITHOUT_EXCHANGE)
    assert train(FRAMEWORKS[WITHOUT_EXCHANGE], 2).outcome is RunOutcome.UNSUPPORTED


@pytest.mark.parametrize("precision", BOUNDS)
@pytest.mark.parametrize("name", PARALLEL)
def test_two_workers_have_the_losses_of_one(name, precision):
    place_of(name)
    one, two = (train(FRAMEWORKS[name], workers, precision) for workers in (1, 2))
    assert one.outcome is two.outcome is RunOutcome.FINISHED, one.message + two.message
    assert deviation(two, one) <= BOUNDS[precision]
    assert two.evaluation.loss == pytest.approx(one.evaluation.loss, rel=5 * BOUNDS[precision])


@pytest.mark.parametrize("name", PARALLEL)
def test_the_exchange_is_seen_on_the_loopback_interface_and_steps_without_it_were_taken(name):
    place_of(name)
    run = train(FRAMEWORKS[name], 2)
    values = sum(int(np.prod(shape)) for shape in run.parameters.values())
    # Each worker of two sends at least half of the gradient, in float32, and gets the other half.
    assert run.usage["train"].readings["loopback_bytes"] >= 4 * values * STEPS
    assert all(share.cpu_seconds > 0 for share in run.workers)
    assert len(run.exchange.alone_seconds) > 0


FAULTS = ("summed", "one part", "unsynchronised")


@pytest.mark.parametrize("fault", FAULTS)
def test_a_faulty_exchange_is_seen(fault):
    """A PyTorch whose workers sum their gradients, read the same part, or exchange nothing in one step."""
    place_of("pytorch")
    framework = replace(
        FRAMEWORKS["pytorch"], builder="faulty_workers", folders=(BUILDERS,), more_variables=(("FAULT", fault),)
    )
    run = train(framework, 2)
    if fault == "unsynchronised":
        assert run.outcome is RunOutcome.FAILED
        assert "their gradients were not exchanged in every step" in run.message
        return
    assert run.outcome is RunOutcome.FINISHED, run.message
    assert deviation(run, train(FRAMEWORKS["pytorch"], 1)) > 100 * BOUNDS["float32"], json.dumps(run.training.losses)
