"""The worker under every Python that a framework needs: one whole conversation in each."""

import sys
from dataclasses import dataclass
from math import log
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pytest_dlbench.data import Prepared, synthetic
from pytest_dlbench.data.preparation import prepare
from pytest_dlbench.environments.building import EnvironmentStore
from pytest_dlbench.model import SGD, Dense, Flatten, Model, Recipe, ReLU, SoftmaxCrossEntropy, infer
from pytest_dlbench.running.messages import (
    ANSWERS,
    OPERATOR_ANSWERS,
    Built,
    Closed,
    Evaluated,
    Failed,
    Hello,
    Trained,
)
from pytest_dlbench.running.progress import Silent
from tests.worker import interpreters
from tests.worker.sessions import Session, double, session

CLASSES = 3
STEPS = 40
RECIPE = Recipe(batch_size=32, epochs=1, optimizer=SGD(0.1, momentum=0.9, weight_decay=1e-4), precision="float64")


def small(*layers: Any) -> Model:
    head = SoftmaxCrossEntropy(classes=CLASSES)
    return Model(name="small", family="fcn", input_shape=(1, 4, 5), layers=layers, head=head, recipe=RECIPE)


LINEAR = infer(small(Flatten(), Dense(8, bias=False), Dense(CLASSES)))
NOT_LINEAR = infer(small(Flatten(), Dense(CLASSES), ReLU()))


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversation:
    """The answers of one worker, from its first request to its end."""

    too_early: Failed
    unknown: Failed
    wrong_protocol: Failed
    lacking: Failed
    missing: Failed
    hello: Hello
    still_too_early: Failed
    unsupported: Failed
    built: Built
    trained: Trained
    evaluated: Evaluated
    evaluated_again: Evaluated
    closed: Closed
    status: int | None


def converse(asked: Session, data: Prepared) -> Conversation:
    """Every operation, and every kind of invalid request; a worker survives all of them."""
    return Conversation(
        too_early=asked.build(LINEAR, RECIPE),
        unknown=asked.ask("fly"),
        wrong_protocol=asked.hello(protocol=99),
        lacking=asked.ask("hello", protocol=1),
        missing=asked.hello(builder="lacks_its_framework"),
        hello=asked.hello(),
        still_too_early=asked.train(data, RECIPE, STEPS),
        unsupported=asked.build(NOT_LINEAR, RECIPE),
        built=asked.build(LINEAR, RECIPE),
        trained=asked.train(data, RECIPE, STEPS),
        evaluated=asked.evaluate(data),
        evaluated_again=asked.evaluate(data, batch_size=7),
        closed=asked.ask("close"),
        status=asked.worker.exit_status(),
    )


@pytest.fixture(scope="session")
def data(tmp_path_factory: pytest.TempPathFactory) -> Prepared:
    return prepare(synthetic((1, 4, 5), CLASSES), tmp_path_factory.mktemp("data"))


@pytest.fixture(scope="session")
def reference(tmp_path_factory: pytest.TempPathFactory, data: Prepared) -> Conversation:
    """The same conversation with the tests' own Python and NumPy."""
    return _converse(tmp_path_factory, data, Path(sys.executable))


@pytest.fixture(scope="session", params=interpreters.NUMPY)
def version(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture(scope="session")
def conversation(tmp_path_factory: pytest.TempPathFactory, data: Prepared, version: str) -> Conversation:
    interpreters.found(version)
    return _converse(
        tmp_path_factory, data, EnvironmentStore().build(interpreters.ENVIRONMENTS[version], Silent()).python
    )


def _converse(tmp_path_factory: pytest.TempPathFactory, data: Prepared, python: Path) -> Conversation:
    with session(double("numpy_softmax"), tmp_path_factory.mktemp("worker"), python) as asked:
        return converse(asked, data)


def test_every_required_version_is_tested():
    assert interpreters.required() <= set(interpreters.NUMPY)


def test_a_worker_runs_under_the_python_it_was_started_with(conversation, version):
    assert conversation.hello.versions["python"].startswith(f"{version}.")
    assert conversation.hello.versions["numpy"] == interpreters.NUMPY[version]
    assert conversation.hello.versions["numpy_softmax"] == "1"
    assert conversation.hello.distributions["numpy"] == interpreters.NUMPY[version]
    assert conversation.hello.sources == {"numpy": {"numpy": interpreters.NUMPY[version]}}
    assert interpreters.ENVIRONMENTS[version].folder_name in Path(conversation.hello.executable).parts


def test_built_shapes_are_the_inferred_ones(conversation):
    assert conversation.built.parameters == {name: part.shape for name, part in LINEAR.parameters.items()}
    assert conversation.built.description == "flatten1: flatten\nfc1: dense\nfc2: dense"


def test_training_lowers_the_loss(conversation):
    losses = conversation.trained.losses
    assert losses[0] == pytest.approx(log(CLASSES), abs=0.7)
    assert np.mean(losses[-5:]) < 0.5 * np.mean(losses[:5])
    assert len(losses) == len(conversation.trained.step_seconds) == STEPS
    assert conversation.trained.examples == STEPS * RECIPE.batch_size


def test_losses_are_the_same_under_every_python(conversation, reference):
    assert conversation.trained.losses == pytest.approx(reference.trained.losses, rel=1e-6, abs=0)


def test_evaluation_is_right_and_the_same_under_every_python(conversation, reference, data):
    evaluated = conversation.evaluated
    assert evaluated.examples == data.dataset.test_examples
    assert evaluated.correct == reference.evaluated.correct > 0.9 * evaluated.examples
    assert float(evaluated.loss) == pytest.approx(float(reference.evaluated.loss), rel=1e-6)


def test_evaluation_does_not_depend_on_its_batches(conversation):
    once, again = conversation.evaluated, conversation.evaluated_again
    assert once.correct == again.correct
    assert float(once.loss) == pytest.approx(float(again.loss), rel=1e-12)


def test_seconds_are_plausible(conversation):
    spans = [conversation.hello.seconds, conversation.built.seconds, conversation.trained.load_seconds]
    assert all(0 <= span < 60 for span in (*spans, *conversation.trained.step_seconds, conversation.evaluated.seconds))


def test_the_error_for_an_early_operation_names_its_predecessor(conversation):
    assert conversation.too_early.kind == conversation.still_too_early.kind == "bad_request"
    assert conversation.too_early.message == "op 'build' comes after 'hello'"
    assert conversation.still_too_early.message == "op 'train' comes after 'build'"


def test_an_unknown_operation_is_answered_with_the_known_ones(conversation):
    known = ", ".join(sorted(ANSWERS.keys() | OPERATOR_ANSWERS.keys()))
    assert conversation.unknown.kind == "bad_request"
    assert conversation.unknown.message == f"unknown op 'fly'; this worker (protocol 1) knows {known}"


def test_another_protocol_is_refused_with_both_versions(conversation):
    assert conversation.wrong_protocol.kind == "bad_request"
    assert conversation.wrong_protocol.message == "this worker speaks protocol 1, the driver 99"


def test_the_error_for_a_missing_field_names_it(conversation):
    assert conversation.lacking.kind == "bad_request"
    assert conversation.lacking.message == "request 'hello' lacks the field 'device'"


def test_a_framework_that_is_missing_is_named(conversation):
    assert conversation.missing.kind == "missing_framework"
    assert "No module named 'a_framework_that_nobody_has'" in conversation.missing.message


def test_a_layer_that_cannot_be_built_is_named(conversation):
    assert conversation.unsupported.kind == "unsupported"
    assert conversation.unsupported.message == "the builder numpy_softmax has no relu"


def test_close_ends_the_process_with_status_0(conversation):
    assert isinstance(conversation.closed, Closed)
    assert conversation.status == 0
