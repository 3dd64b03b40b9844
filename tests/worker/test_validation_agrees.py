"""Frameworks that train one network on the same validation split stop after the same epoch."""

from dataclasses import replace

import pytest

from pytest_dlbench.data import DATASETS
from pytest_dlbench.environments import DEVICES, FRAMEWORKS
from pytest_dlbench.model import SGD, Dense, Flatten, Model, Recipe, ReLU, SoftmaxCrossEntropy
from pytest_dlbench.planning.plan import RunSettings
from pytest_dlbench.records import Machine, RunOutcome
from pytest_dlbench.reporting import problems
from pytest_dlbench.running.training import train_once
from tests.worker.places import place_of

EPOCHS, PATIENCE = 40, 2
MACHINE = Machine(name="any", cpu_model="any", cores=2, memory_gib=8, os_family="Linux")
SETTINGS = RunSettings(machine=MACHINE, scale="full", threads=1, seed=3, timeout_seconds=300.0)
RECIPE = Recipe(
    batch_size=32,
    epochs=EPOCHS,
    optimizer=SGD(0.05, momentum=0.9),
    precision="float64",
    validation=True,
    patience=PATIENCE,
    monitor="accuracy",
    tested_epoch="best",
)
MODEL = Model(
    name="mlp",
    family="fcn",
    input_shape=(1, 8, 8),
    layers=(Flatten(), Dense(32), ReLU(), Dense(10)),
    head=SoftmaxCrossEntropy(classes=10),
    recipe=RECIPE,
)


def train(name, recipe=RECIPE):
    place_of(name)
    run = train_once(SETTINGS.spec(FRAMEWORKS[name], MODEL, DATASETS["digits"], DEVICES["cpu"], recipe=recipe), 0)
    assert run.outcome is RunOutcome.FINISHED, problems.of_run(run)
    return run


def test_pytorch_and_jax_stop_after_the_same_epoch_and_test_the_same_one():
    one, other = train("pytorch"), train("jax")
    found = one.validation
    assert found.is_early
    assert found.trained_epochs == found.best_epoch + PATIENCE < EPOCHS
    assert found.tested_epoch == found.best_epoch
    assert found == replace(other.validation, seconds=found.seconds, curve=found.curve)
    for name in ("curve", "validation"):
        points = [getattr(run, name) if name == "curve" else run.validation.curve for run in (one, other)]
        losses = [[point.loss for point in of_run] for of_run in points]
        assert losses[0] == pytest.approx(losses[1], rel=1e-9)
    assert one.evaluation.correct == other.evaluation.correct
    assert one.evaluation.loss == one.curve[int(found.best_epoch) - 1].loss
