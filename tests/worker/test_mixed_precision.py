"""Mixed precision: close to float32, and not the same."""

import os
from dataclasses import replace

import numpy as np
import pytest

from pytest_dlbench.data import Arrays
from pytest_dlbench.data.preparation import prepare
from pytest_dlbench.environments import FRAMEWORKS
from pytest_dlbench.environments.placing import Absent, Places
from pytest_dlbench.environments.supports import supports
from pytest_dlbench.model import (
    SGD,
    Adam,
    BatchNorm,
    Conv2D,
    Dense,
    Flatten,
    GlobalAvgPool,
    Model,
    Recipe,
    ReLU,
    SoftmaxCrossEntropy,
    infer,
)
from pytest_dlbench.model.needs import needs
from pytest_dlbench.planning import synthetic_for
from pytest_dlbench.running.messages import Failed
from tests.worker.sessions import session
from tests.worker.test_vocabulary_agrees import CASES as VOCABULARY
from tests.worker.test_vocabulary_agrees import data_of

STEPS = 10
RECIPE = Recipe(batch_size=32, epochs=1, optimizer=SGD(0.02, momentum=0.9))
NETWORK = infer(
    Model(
        name="small",
        family="cnn",
        input_shape=(2, 9, 9),
        layers=(Conv2D(8, 3), BatchNorm(), ReLU(), Flatten(), Dense(16), ReLU(), Dense(4)),
        head=SoftmaxCrossEntropy(classes=4),
        recipe=RECIPE,
    )
)
# Of losses that fall from 1.6 to 0.05. bfloat16 has eight binary digits, float16 eleven.
BOUNDS = {"bfloat16": 0.03, "float16": 0.01}
NAMES = ("pytorch", "jax", "keras-tensorflow", "keras-jax", "keras-torch", "tensorflow", "tensorflow-xla")
# What a framework has not of its own, or not in 16 bits: masks, states, normalisations, sums of many numbers.
_SPECIAL = ("response-norm", "log-softmax", "lstm-of-lengths", "pairs-of-sentences", "clipped", "inverse time")
_WRITTEN_HERE = (
    *_SPECIAL,
    "shortcut",
    "inception",
    "groups",
    "ceil",
    "features",
    "flags",
    "bigrams",
    "language-model",
    "gru",
    "gru-of-lengths",
)
# XLA compiles the loops over sequences of the same builder for half a minute.
_COMPILED_SOON = ("response-norm", "log-softmax", "gru-of-lengths", "clipped", "features", "bigrams")
OTHER_LAYERS = {
    "jax": _COMPILED_SOON,
    "keras-torch": _SPECIAL,
    "tensorflow": _WRITTEN_HERE,
    "tensorflow-xla": _COMPILED_SOON,
}


@pytest.fixture(scope="module")
def asked(name, tmp_path_factory):
    place = Places().find(FRAMEWORKS[name])
    if isinstance(place, Absent):
        if name in os.environ.get("DLBENCH_REQUIRE_FRAMEWORKS", "").split(","):
            pytest.fail(f"DLBENCH_REQUIRE_FRAMEWORKS asks for it: {place.reason}")
        pytest.skip(place.reason)
    with session(FRAMEWORKS[name], tmp_path_factory.mktemp(name)) as found:
        found.hello()
        yield found


def trained(asked, network, recipe, data, steps=STEPS):
    built = asked.build(network, recipe)
    if isinstance(built, Failed) and built.kind == "unsupported" and "on this cpu" in built.message.lower():
        # oneDNN has bfloat16 where there is AVX-512.
        pytest.skip(built.message)
    assert not isinstance(built, Failed), built.message
    answers = asked.train(data, recipe, steps), asked.evaluate(data)
    for answer in answers:
        assert not isinstance(answer, Failed), answer.message
    return answers


@pytest.mark.parametrize("name", NAMES, scope="module")
def test_trains_nearly_as_float32_does(name, asked, tmp_path):
    data = prepare(synthetic_for(NETWORK.model), tmp_path)
    exact, exactly = trained(asked, NETWORK, RECIPE, data)
    for precision in supports(FRAMEWORKS[name]) & BOUNDS.keys():
        mixed, evaluated = trained(asked, NETWORK, replace(RECIPE, precision=precision), data)
        assert mixed.losses == pytest.approx(exact.losses, rel=0, abs=BOUNDS[precision])
        assert mixed.losses != exact.losses
        assert float(evaluated.loss) == pytest.approx(float(exactly.loss), rel=0, abs=2 * BOUNDS[precision])


@pytest.mark.parametrize(
    ("name", "case"), [(name, case) for name, cases in OTHER_LAYERS.items() for case in cases], scope="module"
)
def test_what_a_framework_does_not_do_by_itself_is_as_in_float32_too(name, case, asked, tmp_path):
    tried, recipe = VOCABULARY[case]
    data = prepare(data_of(tried), tmp_path)
    exact, _ = trained(asked, infer(tried), replace(recipe, precision="float32"), data, steps=6)
    for precision in supports(FRAMEWORKS[name]) & BOUNDS.keys():
        mixed, _ = trained(asked, infer(tried), replace(recipe, precision=precision), data, steps=6)
        assert mixed.losses == pytest.approx(exact.losses, rel=0, abs=BOUNDS[precision])
        assert mixed.losses != exact.losses


@pytest.mark.parametrize("name", ["tensorflow", "tensorflow-xla"], scope="module")
def test_a_step_whose_gradients_are_too_large_for_float16_changes_nothing(name, asked, tmp_path):
    tried, _ = VOCABULARY["log-softmax"]
    whole = Recipe(batch_size=48, epochs=1, optimizer=Adam(0.001), precision="float16")
    inputs, labels = np.full((48, *tried.input_shape), 64.0, np.float32), np.zeros(48, np.int64)
    arrays = Arrays(train_inputs=inputs, train_labels=labels, test_inputs=inputs, test_labels=labels)
    large = replace(data_of(tried), name="large-inputs", make=lambda: arrays)
    losses = trained(asked, infer(tried), whole, prepare(large, tmp_path), steps=12)[0].losses
    # A gradient is up to 64 times the scale, which begins at 2**15 or 2**16: more than float16 has.
    assert set(losses[:5]) == {losses[0]}
    assert losses[-1] < losses[0]


@pytest.mark.parametrize("name", ["pytorch", "jax", "tensorflow", "tensorflow-xla"], scope="module")
def test_the_gradient_of_a_bias_adds_up_all_of_an_image(name, asked, tmp_path):
    # From zeros nothing but the biases learns. 51,200 equal numbers, added up in bfloat16, are 256 of them.
    tried = infer(replace(NETWORK.model, input_shape=(1, 40, 40), layers=(Conv2D(4, 1), GlobalAvgPool(), Flatten())))
    inputs, labels = np.zeros((32, 1, 40, 40), np.float32), np.zeros(32, np.int64)
    arrays = Arrays(train_inputs=inputs, train_labels=labels, test_inputs=inputs, test_labels=labels)
    zeros = replace(synthetic_for(tried.model), name="zeros", train_examples=32, test_examples=32, make=lambda: arrays)
    data, recipe = prepare(zeros, tmp_path), replace(RECIPE, optimizer=SGD(0.5))
    exact, _ = trained(asked, tried, recipe, data, steps=5)
    for precision in supports(FRAMEWORKS[name]) & BOUNDS.keys():
        mixed, _ = trained(asked, tried, replace(recipe, precision=precision), data, steps=5)
        assert mixed.losses == pytest.approx(exact.losses, rel=0, abs=BOUNDS[precision])


@pytest.mark.parametrize("name", ["pytorch"], scope="module")
def test_an_lstm_that_pytorch_has_not_in_float16_is_refused_before_it_fails(name, asked, tmp_path):
    tried, recipe = VOCABULARY["lstm"]
    half = replace(recipe, precision="float16")
    built = asked.build(infer(tried), half)
    if isinstance(built, Failed):
        assert (built.kind, "trains no LSTM in float16" in built.message) == ("unsupported", True)
    else:
        trained(asked, infer(tried), half, prepare(data_of(tried), tmp_path), steps=2)


def test_a_builder_without_it_is_known_before_anything_runs():
    needed = needs(NETWORK, replace(RECIPE, precision="float16"))
    assert needed - supports(FRAMEWORKS["jax"]) == {"float16"}
    assert needed <= supports(FRAMEWORKS["pytorch"])
