"""Detectors in what a worker does besides trainings: single steps that alternate, and counts after the measurement.

And two steps of the largest one.
"""

from dataclasses import replace

import pytest

from pytest_dlbench.data import DATASETS
from pytest_dlbench.data.preparation import prepare
from pytest_dlbench.environments import FRAMEWORKS
from pytest_dlbench.model import SGD, infer
from pytest_dlbench.planning.plan import synthetic_for
from pytest_dlbench.zoo import MODELS
from tests.equivalence.test_planted_detector_faults import PRECISE, SMALL
from tests.worker.places import place_of
from tests.worker.sessions import session

STEPS = 4
every_framework = pytest.mark.parametrize("name", ["pytorch", "jax", "tensorflow"])


@pytest.fixture
def data(tmp_path):
    return prepare(DATASETS["shapes"], tmp_path / "data")


def trained(asked, data, taken):
    """The losses of the first steps; the others are not taken yet."""
    asked.hello()
    asked.build(infer(SMALL), PRECISE)
    return asked.train(data, PRECISE, STEPS, taken).losses


@every_framework
def test_single_steps_have_the_losses_of_a_training(name, data, tmp_path):
    place_of(name, "detectors")
    with session(FRAMEWORKS[name], tmp_path) as asked:
        whole = trained(asked, data, STEPS)
    with session(FRAMEWORKS[name], tmp_path) as asked:
        first = trained(asked, data, 1)
        others = [asked.ask("step", number=number).loss for number in range(1, STEPS)]
    assert [*first, *others] == pytest.approx(whole, rel=1e-12)


@every_framework
def test_a_step_is_counted_and_an_evaluation_is_not(name, data, tmp_path):
    place_of(name, "detectors")
    counts = []
    for has_evaluation in (False, True):
        with session(FRAMEWORKS[name], tmp_path) as asked:
            trained(asked, data, STEPS)
            if has_evaluation:
                asked.evaluate(data)
            counts.append(asked.ask("count").counts)
    assert counts[0]["operations"] == counts[1]["operations"] > 0
    assert counts[0].get("compilations") == counts[1].get("compilations")


def test_the_network_of_600_pixels_takes_two_steps_with_the_same_losses(tmp_path):
    model, recipe = MODELS["faster-rcnn-voc"], replace(PRECISE, precision="float32", batch_size=1, optimizer=SGD(1e-7))
    data, losses = prepare(synthetic_for(model), tmp_path / "data"), []
    for name in ("pytorch", "jax"):
        place_of(name, "detectors")
        with session(FRAMEWORKS[name], tmp_path / name) as asked:
            asked.hello()
            asked.build(infer(model), recipe)
            losses.append(asked.train(data, recipe, 2).losses)
    assert len(losses[0]) == 2
    assert losses[0] == pytest.approx(losses[1], rel=3e-3)
