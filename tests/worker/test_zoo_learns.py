"""Every network of the zoo that is not slow learns, in PyTorch: it memorises two examples within some steps.

A network that ignores its inputs gives both the same answers. Then its loss is at least the entropy of their labels,
whatever it has learned: a loss below that shows that inputs and gradients pass through the network.
"""

from dataclasses import replace
from math import isfinite
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pytest_dlbench.data import Arrays
from pytest_dlbench.environments import FRAMEWORKS
from pytest_dlbench.model import Adam, Model, Recipe, infer
from pytest_dlbench.planning.plan import synthetic_for
from pytest_dlbench.running.messages import Built, Evaluated, Failed, Trained, TrainedOn
from pytest_dlbench.zoo import MODELS
from tests.worker.places import place_of
from tests.worker.sessions import Session, session

MOST_STEPS, STEPS_AT_ONCE = 150, 5
SHARE_OF_ENTROPY = 0.9
RECIPE = Recipe(batch_size=2, epochs=1, optimizer=Adam(3e-4))
RATE_OF_SEQUENCES = 1e-2
# The deepest chain without normalisation, slow only due to its many parameters, is included for its initial weights.
DEEPEST = "thesis-vgg16-cifar10"
# The loss of a detector is none over answers; tests/equivalence/test_golden_losses.py shows that it falls.
NAMES = [
    *(model.name for model in MODELS.values() if "slow" not in model.marks and model.family != "detection"),
    DEEPEST,
]


def entropy(labels: Any) -> float:
    """The entropy of the labels' frequencies, in nats: the minimum loss of one answer for all."""
    _, counts = np.unique(labels, return_counts=True)
    shares = counts / counts.sum()
    return float(-(shares * np.log(shares)).sum())


def two_examples(arrays: Arrays) -> tuple[Any, Any]:
    """The first training example, and the next one with other labels."""
    labels = arrays.train_labels
    other = next(place for place in range(len(labels)) if (labels[place] != labels[0]).any())
    return arrays.train_inputs[[0, other]], labels[[0, other]]


class Learner:
    """A worker that trains one network after the other, each on its own batch."""

    def __init__(self, asked: Session, folder: Path) -> None:
        self._asked, self._folder = asked, folder

    def losses(self, model: Model, inputs: Any, labels: Any, enough: float) -> list[float]:
        """The losses of steps on the same examples, until one is less than ``enough``."""
        answer: Trained | TrainedOn | Failed = self._train(model, inputs, labels, STEPS_AT_ONCE)
        losses: list[float] = []
        while True:
            assert not isinstance(answer, Failed), answer.message
            losses += answer.losses
            if min(losses) < enough or len(losses) == MOST_STEPS:
                return losses
            answer = self._asked.train_on(len(losses), STEPS_AT_ONCE)

    def evaluation(self, model: Model, inputs: Any, labels: Any) -> Evaluated | Failed:
        """The evaluation of the same examples, after a step on them."""
        stepped = self._train(model, inputs, labels, 1)
        assert isinstance(stepped, Trained), stepped.message
        paths = {name: str(self._folder / f"{name}.npy") for name in ("inputs", "labels")}
        return self._asked.ask("evaluate", **paths, batch_size=len(inputs))

    def _train(self, model: Model, inputs: Any, labels: Any, steps: int) -> Trained | Failed:
        files = {"order": np.tile(np.arange(len(inputs)), (MOST_STEPS, 1)), "inputs": inputs, "labels": labels}
        for name, array in files.items():
            np.save(self._folder / f"{name}.npy", array)
        optimizer = Adam(RATE_OF_SEQUENCES) if model.family == "rnn" else RECIPE.optimizer
        built = self._asked.build(infer(model), replace(RECIPE, optimizer=optimizer, init=model.recipe.init))
        assert isinstance(built, Built), built.message
        return self._asked.ask("train", **{name: str(self._folder / f"{name}.npy") for name in files}, steps=steps)


@pytest.fixture(scope="module")
def learner(tmp_path_factory):
    place_of("pytorch")
    folder = tmp_path_factory.mktemp("learner")
    with session(FRAMEWORKS["pytorch"], folder) as asked:
        hello = asked.hello()
        assert not isinstance(hello, Failed), hello.message
        yield Learner(asked, folder)


@pytest.mark.parametrize("name", NAMES)
def test_memorises_two_examples(learner, name):
    model = MODELS[name].without_dropout()
    inputs, labels = two_examples(synthetic_for(model).make())
    counted = labels[labels != getattr(model.head, "ignored", None)]
    enough = SHARE_OF_ENTROPY * entropy(counted)
    losses = learner.losses(model, inputs, labels, enough)
    assert min(losses) < enough


# CI trains the zoo through the driver in JAX only: what that has and the test above has not is dropout and evaluation.
@pytest.mark.parametrize("name", NAMES)
def test_takes_a_step_with_dropout_and_is_evaluated(learner, name):
    model = MODELS[name]
    inputs, labels = two_examples(synthetic_for(model).make())
    evaluated = learner.evaluation(model, inputs, labels)
    assert isinstance(evaluated, Evaluated), evaluated.message
    ignored = getattr(model.head, "ignored", None)
    assert evaluated.examples == ((labels != ignored).sum() if model.head.task == "tokens" else 2)
    assert isfinite(float(evaluated.loss))


def test_two_identical_examples_are_never_distinguished(learner):
    model = MODELS["gatech-lenet"].without_dropout()
    inputs, labels = two_examples(synthetic_for(model).make())
    blind = np.repeat(inputs[:1], 2, axis=0)
    losses = learner.losses(model, blind, labels, SHARE_OF_ENTROPY * entropy(labels))
    assert len(losses) == MOST_STEPS
    assert min(losses) > 0.999 * entropy(labels)
    # It has learned what can be learned without its inputs.
    assert losses[-1] < losses[0] / 2
