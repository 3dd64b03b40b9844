"""Programs in the environments of frameworks: a loop in PyTorch, and fit of Keras 3 with its callback."""

import pytest

from pytest_dlbench.environments import FRAMEWORKS
from pytest_dlbench.records import RunOutcome
from pytest_dlbench.running.training import train_once
from tests.running.test_programs import STEPS, spec
from tests.worker.places import place_of

PYTORCH = """
import torch
from torch import nn

def build(run):
    torch.manual_seed(run.seed)
    torch.set_num_threads(run.threads)
    model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 2)).to(run.device)
    optimizer = torch.optim.SGD(model.parameters(), lr=run.parameters["rate"])
    inputs = torch.randn(64, 8, device=run.device)
    labels = (inputs.sum(1) > 0).long()

    def step(number):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(inputs), labels)
        loss.backward()
        optimizer.step()
        return loss

    def evaluate():
        with torch.no_grad():
            return {"accuracy": (model(inputs).argmax(1) == labels).float().mean()}

    return {"step": step, "evaluate": evaluate, "samples_per_step": 64}
"""
# Its steps return before they are computed; the matrix takes far longer than the step.
JAX = """
import jax
import jax.numpy as jnp

def main(run):
    square = jax.jit(lambda matrix: matrix @ matrix @ matrix / 1e9)
    matrix, ready = jnp.ones((1000, 1000)), []
    for number in run.steps():
        matrix = square(matrix)
        run.wait()
        ready.append(matrix.is_ready())
    run.report(accuracy=sum(ready) / len(ready))
"""
# Two epochs of 16 batches, of which the measured steps end the second.
KERAS = """
import keras
import numpy as np

def main(run):
    keras.utils.set_random_seed(run.seed)
    inputs = np.random.default_rng(run.seed).normal(size=(256, 8)).astype("float32")
    labels = (inputs.sum(axis=1) > 0).astype("int32")
    model = keras.Sequential([keras.layers.Dense(16, activation="relu"), keras.layers.Dense(2)])
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(optimizer=keras.optimizers.SGD(run.parameters["rate"]), loss=loss)
    callbacks = [run.callback("keras")]
    fitted = model.fit(inputs, labels, batch_size=16, epochs=9, verbose=0, callbacks=callbacks)
    shares = model.predict(inputs, verbose=0).argmax(axis=1) == labels
    run.report(accuracy=shares.mean(), epochs=len(fitted.epoch), loss=fitted.history["loss"][-1])
"""


@pytest.fixture
def train(tmp_path):
    """Run a program once in the environment of a framework."""

    def train(name, text, function="build"):
        framework, place = FRAMEWORKS[name], place_of(name, "programs")
        return train_once(spec(tmp_path, text, function, framework=framework, place=place), 0)

    return train


@pytest.mark.parametrize("name", ["pytorch"])
def test_a_loop_is_stepped(train, name):
    found = train(name, PYTORCH)
    assert (found.outcome, found.message) == (RunOutcome.FINISHED, "")
    assert len(found.training.step_seconds) == STEPS
    assert found.training.losses[-1] < found.training.losses[0]
    assert found.reported.values["accuracy"] > 0.5
    assert found.versions["torch"].startswith("2.")


def test_a_step_of_jax_lasts_until_its_arrays_are_computed(train):
    found = train("jax", JAX, "main")
    assert (found.outcome, found.message) == (RunOutcome.FINISHED, "")
    assert found.reported.values["accuracy"] == 1.0


@pytest.mark.parametrize("name", ["keras-jax", "keras-torch", "keras-tensorflow"])
def test_the_callback_marks_the_steps_of_keras(train, name):
    found = train(name, KERAS, "main")
    assert (found.outcome, found.message) == (RunOutcome.FINISHED, "")
    assert len(found.training.step_seconds) == STEPS
    assert found.reported.values["epochs"] == 2
    assert found.versions["keras"].startswith("3.")
