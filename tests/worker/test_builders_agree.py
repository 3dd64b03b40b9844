"""PyTorch and JAX build and train the same networks: every layer, every setting of the optimiser, in float64.

Each network has one fresh worker a framework. All that is asked of it is asked at once, and looked at in the tests.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import isfinite
from typing import Any

import numpy as np
import pytest

from pytest_dlbench.data import synthetic
from pytest_dlbench.data.preparation import prepare
from pytest_dlbench.environments import FRAMEWORKS
from pytest_dlbench.model import (
    SGD,
    AvgPool,
    BatchNorm,
    Conv2D,
    Dense,
    Dropout,
    Flatten,
    Layer,
    MaxPool,
    Model,
    Recipe,
    ReLU,
    Sigmoid,
    SoftmaxCrossEntropy,
    Tanh,
    infer,
)
from pytest_dlbench.model import layers as vocabulary
from pytest_dlbench.running.messages import Built, Evaluated, Trained
from tests.worker.sessions import Session, double, session

STEPS = 10
# Of the test split: one size of batches to compile for.
HALF = 160
CLASSES = 4
PRECISE = Recipe(batch_size=16, epochs=1, optimizer=SGD(0.05, momentum=0.9), precision="float64")
RECIPES: Mapping[str, Recipe] = {
    "plain": replace(PRECISE, optimizer=SGD(0.05)),
    "momentum": PRECISE,
    "weight decay": replace(PRECISE, optimizer=SGD(0.05, momentum=0.9, weight_decay=0.02)),
    "nesterov": replace(PRECISE, optimizer=SGD(0.05, momentum=0.9, nesterov=True, weight_decay=0.02)),
}
OWN = replace(PRECISE, init="framework", precision="float32")


def model(*layers: Layer, name: str = "every-layer", shape: tuple[int, ...] = (2, 11, 12)) -> Model:
    head = SoftmaxCrossEntropy(classes=CLASSES)
    return Model(name=name, family="cnn", input_shape=shape, layers=layers, head=head, recipe=PRECISE)


EVERY_LAYER = model(
    Conv2D(4, 3, stride=2, padding=(1, 0)),
    BatchNorm(),
    ReLU(),
    # An even kernel needs one row or column more after the image than before it.
    Conv2D(5, (2, 4), padding="same", bias=False),
    BatchNorm(epsilon=1e-3, decay=0.7),
    Tanh(),
    MaxPool(2, padding="same"),
    AvgPool(2, stride=1, padding="same"),
    AvgPool(3, stride=1, padding=1),
    MaxPool(3, stride=1, padding=(1, 0)),
    Dropout(0.0),
    Flatten(),
    BatchNorm(decay=0.5),
    ReLU(),
    Dense(12, bias=False),
    Sigmoid(),
    Dense(9),
    BatchNorm(),
    Tanh(),
    Dense(CLASSES),
)
WITH_DROPOUT = model(Flatten(), Dense(32), ReLU(), Dropout(0.5), Dense(CLASSES), name="dropout")
LINEAR = model(Flatten(), Dense(7, bias=False), Dense(CLASSES), name="linear")


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """One network, built, evaluated, trained and evaluated twice more."""

    built: Built
    untrained: Evaluated
    trained: Trained
    evaluated: Evaluated
    evaluated_again: Evaluated


def attempt(asked: Session, tried: Model, recipe: Recipe, data: Any, *, steps: int = STEPS, again: int = HALF) -> Trial:
    return Trial(
        built=asked.build(infer(tried), recipe),
        untrained=asked.evaluate(data, batch_size=HALF),
        trained=asked.train(data, recipe, steps),
        evaluated=asked.evaluate(data, batch_size=HALF),
        evaluated_again=asked.evaluate(data, batch_size=again),
    )


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return prepare(synthetic(EVERY_LAYER.input_shape, CLASSES), tmp_path_factory.mktemp("data"))


@pytest.fixture(scope="module")
def ask(tmp_path_factory, data):
    """What a fresh worker of a framework answers to several trials, as {name: Trial}."""

    def ask(name: str, trials: Mapping[str, tuple[Model, Recipe]], **options: Any) -> dict[str, Trial]:
        framework = FRAMEWORKS.get(name) or double(name)
        with session(framework, tmp_path_factory.mktemp(name)) as asked:
            asked.hello()
            found = {what: attempt(asked, *trial, data, **options) for what, trial in trials.items()}
            asked.ask("close")
        return found

    return ask


@pytest.fixture(scope="module")
def every_layer(ask):
    """{framework: {recipe: Trial}}."""
    trials = {name: (EVERY_LAYER, recipe) for name, recipe in RECIPES.items()}
    return {framework: ask(framework, trials) for framework in FRAMEWORKS}


@pytest.fixture(scope="module")
def dropout(ask):
    """{framework: {what: Trial}}."""
    trials = {
        "on": (WITH_DROPOUT, PRECISE),
        "on again": (WITH_DROPOUT, PRECISE),
        "off": (WITH_DROPOUT.without_dropout(), PRECISE),
        "own": (WITH_DROPOUT.without_dropout(), OWN),
        "own again": (WITH_DROPOUT.without_dropout(), OWN),
        "linear": (LINEAR, RECIPES["nesterov"]),
    }
    return {framework: ask(framework, trials, steps=40, again=37) for framework in FRAMEWORKS}


@pytest.fixture(scope="module")
def by_hand(ask):
    """Trial of the network without activations, in plain NumPy."""
    return ask("numpy_softmax", {"linear": (LINEAR, RECIPES["nesterov"])}, steps=40)["linear"]


def test_the_model_has_every_layer_of_the_vocabulary():
    kinds = {thing.kind for thing in vars(vocabulary).values() if isinstance(getattr(thing, "kind", None), str)}
    assert {layer.kind for layer in EVERY_LAYER.layers} == kinds


def test_the_model_is_padded_unevenly_in_each_way():
    geometry = [(placed.layer.kind, placed.inferred.geometry.get("padding")) for placed in infer(EVERY_LAYER).layers]
    uneven = {kind for kind, pads in geometry if pads and any(first != last for first, last in pads)}
    assert uneven == {"conv2d", "max_pool", "avg_pool"}


@pytest.mark.parametrize("recipe", RECIPES)
class TestEveryLayer:
    def test_has_the_same_losses_in_both_frameworks(self, every_layer, recipe):
        ours, theirs = (every_layer[framework][recipe].trained.losses for framework in ("pytorch", "jax"))
        assert len(ours) == STEPS
        assert ours == pytest.approx(theirs, rel=1e-9, abs=0)

    def test_has_the_same_evaluation_with_its_running_statistics(self, every_layer, recipe):
        ours, theirs = (every_layer[framework][recipe].evaluated for framework in ("pytorch", "jax"))
        assert float(ours.loss) == pytest.approx(float(theirs.loss), rel=1e-9, abs=0)
        assert ours.correct == theirs.correct

    def test_is_evaluated_alike_before_any_training(self, every_layer, recipe):
        ours, theirs = (float(every_layer[framework][recipe].untrained.loss) for framework in ("pytorch", "jax"))
        assert ours == pytest.approx(theirs, rel=1e-9, abs=0)


@pytest.mark.parametrize("framework", FRAMEWORKS)
class TestOneFramework:
    def test_builds_the_inferred_shapes(self, every_layer, framework):
        inferred = {name: parameter.shape for name, parameter in infer(EVERY_LAYER).parameters.items()}
        assert every_layer[framework]["momentum"].built.parameters == inferred

    def test_describes_its_native_model(self, every_layer, framework):
        description = every_layer[framework]["momentum"].built.description
        assert all(placed.name in description for placed in infer(EVERY_LAYER).layers)

    def test_trains_otherwise_with_every_setting_of_the_optimiser(self, every_layer, framework):
        losses = [trial.trained.losses for trial in every_layer[framework].values()]
        assert len({series[0] for series in losses}) == 1
        assert len({series[-1] for series in losses}) == len(RECIPES)

    def test_evaluates_twice_the_same(self, every_layer, framework):
        for trial in every_layer[framework].values():
            assert trial.evaluated.loss == trial.evaluated_again.loss
            assert trial.evaluated.correct == trial.evaluated_again.correct

    def test_evaluates_alike_whatever_the_batches(self, dropout, framework):
        once, again = dropout[framework]["off"].evaluated, dropout[framework]["off"].evaluated_again
        assert float(once.loss) == pytest.approx(float(again.loss), rel=1e-12)
        assert (once.examples, once.correct) == (again.examples, again.correct)

    def test_compiles_in_the_first_step_if_at_all(self, every_layer, framework):
        for trial in every_layer[framework].values():
            first, second = trial.trained.step_seconds[:2]
            # A second compilation takes as long as the first: a second or two.
            assert second < max(first / 3, 0.2)

    def test_drops_out_in_training(self, dropout, framework):
        on, off = (dropout[framework][what].trained.losses for what in ("on", "off"))
        # Before the first update both have the same weights.
        assert on[0] != pytest.approx(off[0], rel=1e-3)

    def test_drops_out_something_else_in_every_step(self, dropout, framework):
        on, off = (dropout[framework][what].trained.losses for what in ("on", "off"))
        ratios = [one / other for one, other in zip(on, off, strict=True)]
        assert len(set(np.round(ratios, 6))) == len(ratios)

    def test_drops_out_the_same_from_the_same_seed(self, dropout, framework):
        assert dropout[framework]["on"].trained.losses == dropout[framework]["on again"].trained.losses

    def test_drops_out_nothing_in_evaluation(self, dropout, framework):
        on, off = (dropout[framework][what] for what in ("on", "off"))
        assert float(on.untrained.loss) == pytest.approx(float(off.untrained.loss), rel=1e-12)
        assert float(on.evaluated.loss) == pytest.approx(float(on.evaluated_again.loss), rel=1e-12)

    def test_trains_from_its_own_weights(self, dropout, framework):
        own, shared = dropout[framework]["own"], dropout[framework]["off"]
        losses = own.trained.losses
        assert all(isfinite(loss) for loss in losses)
        assert np.mean(losses[-5:]) < 0.7 * np.mean(losses[:5])
        assert losses[0] != pytest.approx(shared.trained.losses[0], rel=1e-3)
        assert own.built.parameters == shared.built.parameters

    def test_has_the_same_own_weights_from_the_same_seed(self, dropout, framework):
        assert dropout[framework]["own"].trained.losses == dropout[framework]["own again"].trained.losses

    def test_agrees_with_gradients_that_were_written_by_hand(self, dropout, by_hand, framework):
        assert dropout[framework]["linear"].trained.losses == pytest.approx(by_hand.trained.losses, rel=1e-9, abs=0)
        assert float(dropout[framework]["linear"].evaluated.loss) == pytest.approx(float(by_hand.evaluated.loss))
