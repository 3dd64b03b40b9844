"""What distinguishes Transformers of one name is detected: masks, the place of norms, tied weights, decay, GELU."""

import sys
from dataclasses import replace
from pathlib import Path

import pytest

from pytest_dlbench.data.preparation import prepare
from pytest_dlbench.environments import FRAMEWORKS, Framework
from pytest_dlbench.environments.placing import CURRENT, Place, Places
from pytest_dlbench.judging.equivalence import BOUND
from pytest_dlbench.model import (
    GELU,
    AdamW,
    Add,
    Attention,
    Dense,
    Embedding,
    FirstStep,
    LayerNorm,
    Model,
    Positions,
    Recipe,
    SequenceCrossEntropy,
    SoftmaxCrossEntropy,
    TiedDense,
    infer,
)
from pytest_dlbench.planning.plan import synthetic_for
from pytest_dlbench.records import Case, RunOutcome
from pytest_dlbench.reporting import problems
from pytest_dlbench.running.run_spec import NetworkSpec
from pytest_dlbench.running.training import train_once
from tests.worker.places import own_core

BUILDERS = Path(__file__).parents[1] / "doubles" / "builders"
RECIPE = Recipe(batch_size=32, epochs=1, optimizer=AdamW(3e-3, weight_decay=0.5))
WORDS, STEPS = 40, 8
ATTENTION = (Dense(48), Attention(4, causal=True), Dense(16))
FEED_FORWARD = (Dense(32), GELU(tanh=True), Dense(16))


def language_model(*blocks):
    return Model(
        name="language-model",
        family="transformer",
        input_shape=(STEPS,),
        vocabulary=WORDS,
        layers=(Embedding(WORDS, 16, limit=0.5), Positions(), *blocks, LayerNorm(), TiedDense(WORDS)),
        head=SequenceCrossEntropy(classes=WORDS),
        recipe=RECIPE,
    )


PRE_NORM = language_model(Add((LayerNorm(), *ATTENTION), ()), Add((LayerNorm(), *FEED_FORWARD), ()))
# The same weights, normalised in other places.
POST_NORM = language_model(Add(ATTENTION, ()), LayerNorm(), Add(FEED_FORWARD, ()), LayerNorm())
ENCODER = Model(
    name="encoder",
    family="transformer",
    input_shape=(STEPS,),
    vocabulary=WORDS,
    layers=(
        Embedding(WORDS, 16, padding=0, limit=0.5),
        Positions(),
        *(Dense(48), Attention(4), Dense(16), LayerNorm()),
        *(Dense(32), GELU(), Dense(16), FirstStep(), Dense(4)),
    ),
    head=SoftmaxCrossEntropy(classes=4),
    recipe=RECIPE,
)
FAULTY = Framework(name="faulty", builder="faulty_transformer", folders=(BUILDERS,))
CAUGHT = [
    (PRE_NORM, "no_causal_mask"),
    (PRE_NORM, "untied_embedding"),
    (PRE_NORM, "everything_decays"),
    (PRE_NORM, "coupled_decay"),
    (ENCODER, "padding_attended"),
]


@pytest.fixture(scope="module")
def losses(tmp_path_factory):
    """Ten losses of a network, by PyTorch with a fault, or by any framework."""
    folder = tmp_path_factory.mktemp("transformers")

    def spec(model: Model, framework: Framework, fault: str, recipe: Recipe) -> NetworkSpec:
        faulty = Place(
            python=Path(sys.executable), environment=CURRENT, caches=folder / "caches", variables={"FAULT": fault}
        )
        named = {"id": "equivalence", "framework": framework.name, "model": model.name, "dataset": "synthetic"}
        return NetworkSpec(
            case=Case(**named, device="cpu", scale="smoke", threads=1),
            framework=framework,
            place=faulty if framework is FAULTY else Places().find(framework),
            network=infer(model),
            recipe=recipe,
            data=prepare(synthetic_for(model), folder),
            steps=10,
            seed=1,
            timeout_seconds=120.0,
            evaluations=0,
            is_timed=False,
            cores=own_core(),
        )

    def losses(model: Model, framework: Framework = FAULTY, *, fault: str = "none", recipe: Recipe = RECIPE):
        run = train_once(spec(model, framework, fault, recipe), 0)
        assert run.outcome is RunOutcome.FINISHED, problems.of_run(run)
        return run.training.losses

    return losses


@pytest.fixture(scope="module")
def golden(losses):
    """Ten losses in float64 of PyTorch, with which JAX agrees."""
    precise, known = replace(RECIPE, precision="float64"), {}

    def golden(model: Model):
        if model.name not in known:
            ours, theirs = (losses(model, FRAMEWORKS[name], recipe=precise) for name in ("pytorch", "jax"))
            assert deviation(ours, theirs) < 1e-12
            known[model.name] = ours
        return known[model.name]

    return golden


def deviation(ours, theirs):
    return max(abs(a - b) / abs(b) for a, b in zip(ours, theirs, strict=True))


@pytest.mark.parametrize("model", [PRE_NORM, ENCODER], ids=lambda model: model.name)
def test_without_a_fault_it_is_equal(losses, golden, model):
    assert deviation(losses(model), golden(model)) < BOUND


def test_the_other_form_of_gelu_shows_although_it_differs_by_less_than_a_thousandth(losses, golden):
    assert deviation(losses(ENCODER, fault="another_gelu"), golden(ENCODER)) > 3 * BOUND


@pytest.mark.parametrize(("model", "fault"), CAUGHT, ids=lambda value: getattr(value, "name", value))
def test_a_fault_shows_in_the_losses(losses, golden, model, fault):
    assert deviation(losses(model, fault=fault), golden(model)) > 10 * BOUND


def test_norms_in_another_place_show_in_the_losses(losses, golden):
    assert deviation(losses(POST_NORM), golden(PRE_NORM)) > 10 * BOUND
