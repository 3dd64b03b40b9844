"""Detectors that compute one thing differently are caught by their losses; frameworks agree for 50 steps."""

import sys
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

from pytest_dlbench.data import DATASETS
from pytest_dlbench.data.preparation import prepare
from pytest_dlbench.environments import FRAMEWORKS, Framework
from pytest_dlbench.environments.placing import CURRENT, Place, Places
from pytest_dlbench.judging.equivalence import BOUND
from pytest_dlbench.model import (
    SGD,
    Anchors,
    Conv2D,
    Dense,
    DetectionLoss,
    Detections,
    Model,
    Recipe,
    RegionProposals,
    ReLU,
    RoIAlign,
    infer,
)
from pytest_dlbench.records import Case, RunOutcome
from pytest_dlbench.reporting import problems
from pytest_dlbench.running.run_spec import NetworkSpec
from pytest_dlbench.running.training import train_once
from tests.worker.places import own_core, place_of
from tests.worker.teams import Teams

BUILDERS = Path(__file__).parents[1] / "doubles" / "builders"
# Frameworks that have detectors, besides PyTorch: in float64, and only in float32.
IN_FLOAT64 = ("jax", "tensorflow", "keras-tensorflow", "paddle", "chainer", "mxnet", "mxnet-imperative")
OTHERS = (*IN_FLOAT64, "keras-jax", "keras-torch")
FAULTY = Framework(name="faulty", builder="faulty_detector", folders=(BUILDERS,))
RECIPE = Recipe(batch_size=4, epochs=1, optimizer=SGD(0.01, momentum=0.9))
PRECISE = replace(RECIPE, precision="float64")


def detector(name: str, shapes: tuple[tuple[int, int], ...], overlap: float) -> Model:
    return Model(
        name=name,
        family="detection",
        input_shape=(3, 96, 96),
        layers=(
            *(layer for channels in (8, 8, 16) for layer in (Conv2D(channels, 3, stride=2, padding=1), ReLU())),
            RegionProposals(
                anchors=Anchors(shapes=shapes, stride=8),
                trunk=(Conv2D(16, 3, padding=1), ReLU()),
                before=48,
                after=16,
                samples=32,
                overlap=overlap,
            ),
            RoIAlign(3),
            Dense(16),
            ReLU(),
            Detections(3),
        ),
        head=DetectionLoss(classes=3, objects=4),
        recipe=RECIPE,
    )


SMALL = detector("small", ((16, 16), (28, 28), (44, 44)), 0.7)
# Boxes of its large shapes end at the edges of the image: they are equal, so that their overlap is exactly the limit.
LIMIT = detector("limit", ((16, 16), (28, 28), (400, 400)), 1.0)
MOST_STEPS = {SMALL.name: 50, LIMIT.name: 10}
# Each fault, and where it shows.
FAULTS = {
    "unaligned": SMALL,
    "gradient_through_proposals": SMALL,
    "unweighted_boxes": SMALL,
    "suppressed_at_the_limit": LIMIT,
}


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A run of a network, by PyTorch with a fault, or by any framework, whose runs share a worker."""
    folder = tmp_path_factory.mktemp("detectors")
    data = prepare(DATASETS["shapes"], folder)

    def asked(model: Model, framework: Framework, place: Place, *, recipe: Recipe, steps: int, evaluations: int):
        named = {"id": "equivalence", "framework": framework.name, "model": model.name, "dataset": "shapes"}
        return NetworkSpec(
            case=Case(**named, device="cpu", scale="smoke", threads=1),
            framework=framework,
            place=place,
            network=infer(model),
            recipe=recipe,
            data=data,
            steps=steps,
            seed=1,
            timeout_seconds=300.0,
            evaluations=evaluations,
            is_timed=False,
            cores=own_core(),
        )

    # PyTorch's is needed again and again.
    with Teams() as oracle, Teams() as others:

        @cache
        def trained(model: Model, name: str = "", *, fault: str = "none", recipe=RECIPE, steps=10, evaluations=0):
            how = {"recipe": recipe, "steps": steps, "evaluations": evaluations}
            if name:
                place = Places().find(FRAMEWORKS[name])
                spec = asked(model, FRAMEWORKS[name], place, **how)
                return (oracle if name == "pytorch" else others).run(spec)
            caches, variables = folder / "caches", {"FAULT": fault}
            place = Place(python=Path(sys.executable), environment=CURRENT, caches=caches, variables=variables)
            return train_once(asked(model, FAULTY, place, **how), 0)

        yield trained


@pytest.fixture
def losses(trained):
    """The losses of a run, which must finish."""

    def losses(*which, **how):
        run = trained(*which, **how)
        assert run.outcome is RunOutcome.FINISHED, problems.of_run(run)
        return run.training.losses

    return losses


@pytest.fixture
def golden(losses):
    """Losses of a network in float64, by the oracle: those of few steps are the first of those of many."""
    return lambda model, steps: losses(model, "pytorch", recipe=PRECISE, steps=MOST_STEPS[model.name])[:steps]


def deviation(ours, theirs):
    assert len(ours) == len(theirs)
    return max(abs(a - b) / abs(b) for a, b in zip(ours, theirs, strict=True))


@pytest.mark.parametrize("name", IN_FLOAT64)
def test_fifty_steps_in_float64_are_equal(losses, golden, name):
    place_of(name, "detectors")
    assert deviation(losses(SMALL, name, recipe=PRECISE, steps=50), golden(SMALL, 50)) < 1e-11


@pytest.mark.parametrize("name", ["pytorch", *OTHERS])
@pytest.mark.parametrize("model", [SMALL, LIMIT], ids=lambda model: model.name)
def test_ten_steps_in_float32_are_equal(losses, golden, model, name):
    place_of(name, "detectors")
    assert deviation(losses(model, name), golden(model, 10)) < BOUND


@pytest.mark.parametrize("name", ["pytorch"])
@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_shows_in_the_losses(losses, golden, fault, name):
    place_of(name, "detectors")
    assert deviation(losses(FAULTS[fault], fault=fault), golden(FAULTS[fault], 10)) > 10 * BOUND


@pytest.mark.parametrize("name", ["pytorch"])
def test_evaluating_too_few_images_is_a_failed_run(trained, name):
    place_of(name, "detectors")
    run = trained(SMALL, fault="last_image_dropped", evaluations=1)
    assert run.outcome is RunOutcome.FAILED
    assert "the framework returned 127 outputs for 128 examples" in run.message


@pytest.mark.parametrize("name", ["pytorch"])
@pytest.mark.parametrize("model", [SMALL, LIMIT], ids=lambda model: model.name)
def test_without_a_fault_the_losses_are_equal(losses, golden, model, name):
    place_of(name, "detectors")
    assert deviation(losses(model), golden(model, 10)) < BOUND
