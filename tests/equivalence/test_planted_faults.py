"""Planted faults of the kind that made published comparisons unequal are detected."""

import sys
from dataclasses import replace
from pathlib import Path

import pytest

from pytest_dlbench.data import synthetic
from pytest_dlbench.data.preparation import prepare
from pytest_dlbench.environments import FRAMEWORKS, Framework
from pytest_dlbench.environments.placing import CURRENT, Place, Places
from pytest_dlbench.judging import equivalence
from pytest_dlbench.model import (
    SGD,
    BatchNorm,
    Conv2D,
    Dense,
    Dropout,
    Flatten,
    Model,
    Recipe,
    ReLU,
    SoftmaxCrossEntropy,
    infer,
)
from pytest_dlbench.records import Case, Context, Golden, Run, RunOutcome
from pytest_dlbench.records.problems import EvaluationVaries
from pytest_dlbench.reporting import problems
from pytest_dlbench.running.run_spec import NetworkSpec
from pytest_dlbench.running.training import train_once
from pytest_dlbench.sampling.machine import this_machine
from tests.worker.places import own_core

BUILDERS = Path(__file__).parents[1] / "doubles" / "builders"
RECIPE = Recipe(batch_size=32, epochs=1, optimizer=SGD(0.02, momentum=0.9, weight_decay=1e-3))
# An even kernel, whose padding is asymmetric; a batch norm, whose running statistics show only in evaluation.
LAYERS = (Conv2D(4, 4, padding="same"), BatchNorm(decay=0.7), ReLU(), Flatten(), Dense(16), ReLU())
SEEN_IN_LOSSES = ("nesterov", "dampening", "unit_gain", "no_weight_decay", "padding_on_the_other_side")
SEEN_IN_EVALUATION = ("batch_norm_momentum",)


@pytest.fixture(scope="module")
def spec(tmp_path_factory):
    """Ten steps of a small network by PyTorch with a fault, or by any framework."""
    folder = tmp_path_factory.mktemp("equivalence")
    data = prepare(synthetic((2, 9, 9), 4), folder)

    def spec(fault: str, framework: Framework | None = None, *, layers=LAYERS, **changes) -> NetworkSpec:
        head = SoftmaxCrossEntropy(classes=4)
        model = Model(
            name="small", family="cnn", input_shape=(2, 9, 9), layers=(*layers, Dense(4)), head=head, recipe=RECIPE
        )
        chosen = framework or Framework(name="faulty", builder="faulty_pytorch", folders=(BUILDERS,))
        place = Place(
            python=Path(sys.executable), environment=CURRENT, caches=folder / "caches", variables={"FAULT": fault}
        )
        usual = {
            "case": Case(
                id="equivalence",
                framework=chosen.name,
                model="small",
                dataset="synthetic",
                device="cpu",
                scale="smoke",
                threads=1,
            ),
            "framework": chosen,
            "place": Places().find(framework) if framework else place,
            "network": infer(model),
            "recipe": RECIPE,
            "data": data,
            "steps": 10,
            "seed": 1,
            "timeout_seconds": 120.0,
            "evaluations": 2,
            "is_timed": False,
            "cores": own_core(),
        }
        return NetworkSpec(**{**usual, **changes})

    return spec


@pytest.fixture(scope="module")
def golden(spec):
    precise = replace(RECIPE, precision="float64")
    ours, theirs = (train_once(spec("", FRAMEWORKS[name], recipe=precise), 0) for name in ("pytorch", "jax"))
    pairs = list(zip(ours.training.losses, theirs.training.losses, strict=True))
    pairs.append((ours.evaluation.loss, theirs.evaluation.loss))
    difference = max(abs(a - b) / b for a, b in pairs)
    assert difference < 1e-12
    network, data = spec("").network, spec("").data
    return Golden(
        network_digest=network.digest,
        dataset_digest=data.digest,
        difference=difference,
        losses=ours.training.losses,
        evaluation_loss=ours.evaluation.loss,
    )


@pytest.fixture(scope="module")
def certificate(spec, golden):
    def certificate(fault: str):
        asked = spec(fault)
        run = train_once(asked, 0)
        assert run.outcome is RunOutcome.FINISHED, problems.of_run(run)
        return equivalence.certificate(asked.case, _context(asked), run, golden, equivalence.BOUND)

    return certificate


def _context(spec: NetworkSpec) -> Context:
    return Context(
        machine=this_machine(),
        network_digest=spec.network.digest,
        dataset_digest=spec.data.digest,
        batch_size=spec.recipe.batch_size,
        steps=spec.steps,
        precision=spec.recipe.precision,
        init=spec.recipe.init,
    )


def test_without_a_fault_it_is_equal(certificate):
    assert equivalence.is_equal(certificate("none"))


@pytest.mark.parametrize("fault", SEEN_IN_LOSSES)
def test_a_fault_in_training_shows_in_the_losses(certificate, fault):
    found = certificate(fault)
    assert not equivalence.is_equal(found)
    assert found.deviation > 10 * found.bound


@pytest.mark.parametrize("fault", SEEN_IN_EVALUATION)
def test_a_fault_that_no_training_loss_shows_shows_in_the_evaluation(certificate, fault):
    found = certificate(fault)
    assert not equivalence.is_equal(found)
    assert found.evaluation_deviation > 10 * found.bound
    assert found.deviation < found.bound


def test_dropout_left_on_shows_in_a_repeated_evaluation(spec):
    layers = (Flatten(), Dense(16), ReLU(), Dropout(0.5))
    assert train_once(spec("none", layers=layers), 0).outcome is RunOutcome.FINISHED
    left_on: Run = train_once(spec("dropout_left_on", layers=layers), 0)
    assert left_on.outcome is RunOutcome.FAILED
    assert isinstance(left_on.problem, EvaluationVaries)


def test_evaluating_too_few_examples_is_a_failed_run(spec):
    run = train_once(spec("last_batch_dropped"), 0)
    assert run.outcome is RunOutcome.FAILED
    examples = spec("").data.dataset.test_examples
    assert f"the framework returned {examples - 7} outputs for {examples} examples" in run.message


def test_training_on_too_few_batches_is_a_failed_run(spec):
    skipping = Framework(name="skipping", builder="skips_steps", folders=(BUILDERS,))
    linear = spec("none", layers=(Flatten(),), framework=None)
    run = train_once(replace(linear, framework=skipping), 0)
    assert run.outcome is RunOutcome.BROKEN_PROTOCOL
    assert (run.problem.unit, run.problem.requested, run.problem.reported) == ("steps", 10, 9)
