"""Mixed precision: close to float32, but not equal."""

from dataclasses import replace

import numpy as np
import pytest

from pytest_dlbench.data import Arrays
from pytest_dlbench.data.preparation import prepare
from pytest_dlbench.environments import FRAMEWORKS
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
from pytest_dlbench.planning.plan import synthetic_for
from pytest_dlbench.running.messages import Failed
from tests.worker.places import place_of
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
# For losses that fall from 1.6 to 0.05. bfloat16 has eight binary digits, float16 eleven.
BOUNDS = {"bfloat16": 0.03, "float16": 0.01}
NAMES = (
    *("pytorch", "jax", "keras-tensorflow", "keras-jax", "keras-torch", "tensorflow", "tensorflow-xla", "paddle"),
    *("mxnet", "mxnet-imperative", "mlx", "tinygrad", "chainer"),
)
# Precisions that depend on this processor or its compiler, and the message of a builder that lacks them.
REFUSALS = {
    ("paddle", "float16"): "has no mixed float16 on this cpu",
    ("paddle", "bfloat16"): "has no mixed bfloat16 on this cpu",
    ("mxnet", "bfloat16"): "on this CPU",
    ("mxnet-imperative", "bfloat16"): "on this CPU",
    ("tinygrad", "bfloat16"): "cannot compile bfloat16",
}
# What frameworks lack, or lack in 16 bits: masks, states, normalisations, sums of many numbers.
_SPECIAL = ("response-norm", "log-softmax", "lstm-of-lengths", "pairs-of-sentences", "clipped", "inverse time")
_WRITTEN_HERE = (*_SPECIAL, "branched", "features", "flags", "bigrams", "gru-of-lengths")
# Compiling a loop over a sequence takes half a minute.
_COMPILED_SOON = ("response-norm", "log-softmax", "gru-of-lengths", "clipped", "features", "bigrams")
OTHER_LAYERS = {
    "jax": _COMPILED_SOON,
    "keras-torch": _SPECIAL,
    "tensorflow": (*_WRITTEN_HERE, "language-model", "gru"),
    "tensorflow-xla": _COMPILED_SOON,
    "paddle": (*_WRITTEN_HERE, "residual", "language-model", "flags, pipeline"),
    "mxnet": (*_WRITTEN_HERE, "residual", "language-model", "flags, pipeline"),
    "mxnet-imperative": ("residual", "branched", "pairs-of-sentences"),
    "mlx": ("log-softmax", "clipped", "bigrams", "flags", "gru-of-lengths"),
    "tinygrad": ("clipped", "inverse time", "bigrams"),
    "chainer": _WRITTEN_HERE,
}


def test_every_builder_of_mixed_precision_is_trained_in_it():
    able = [framework for framework in FRAMEWORKS.values() if framework.builder and supports(framework) & BOUNDS.keys()]
    folders = {framework.builder.split(".")[2] for framework in able}
    assert {FRAMEWORKS[name].builder.split(".")[2] for name in NAMES} == folders


@pytest.fixture(scope="module")
def asked(name, tmp_path_factory):
    place_of(name, "precision")
    with session(FRAMEWORKS[name], tmp_path_factory.mktemp(name)) as found:
        found.hello()
        yield found


@pytest.fixture(scope="module")
def possible(name, asked):
    """The 16-bit precisions that a framework supports on this machine; it refuses the others with a reason."""
    found = []
    for precision in sorted(supports(FRAMEWORKS[name]) & BOUNDS.keys()):
        built = asked.build(NETWORK, replace(RECIPE, precision=precision))
        if isinstance(built, Failed):
            assert built.kind == "unsupported", built.message
            assert REFUSALS[name, precision] in built.message
        else:
            found.append(precision)
    return found


def trained(asked, network, recipe, data, steps=STEPS):
    built = asked.build(network, recipe)
    assert not isinstance(built, Failed), built.message
    answers = asked.train(data, recipe, steps), asked.evaluate(data)
    for answer in answers:
        assert not isinstance(answer, Failed), answer.message
    return answers


@pytest.mark.parametrize("name", NAMES, scope="module")
def test_trains_almost_like_float32(asked, possible, tmp_path):
    data = prepare(synthetic_for(NETWORK.model), tmp_path)
    exact, exactly = trained(asked, NETWORK, RECIPE, data)
    for precision in possible:
        mixed, evaluated = trained(asked, NETWORK, replace(RECIPE, precision=precision), data)
        assert mixed.losses == pytest.approx(exact.losses, rel=0, abs=BOUNDS[precision])
        assert mixed.losses != exact.losses
        assert float(evaluated.loss) == pytest.approx(float(exactly.loss), rel=0, abs=2 * BOUNDS[precision])


@pytest.mark.parametrize(
    ("name", "case"), [(name, case) for name, cases in OTHER_LAYERS.items() for case in cases], scope="module"
)
def test_what_a_framework_lacks_trains_almost_like_float32(case, asked, possible, tmp_path):
    tried, recipe = VOCABULARY[case]
    data = prepare(data_of(tried), tmp_path)
    exact, _ = trained(asked, infer(tried), replace(recipe, precision="float32"), data, steps=6)
    for precision in possible:
        mixed, _ = trained(asked, infer(tried), replace(recipe, precision=precision), data, steps=6)
        assert mixed.losses == pytest.approx(exact.losses, rel=0, abs=BOUNDS[precision])
        assert mixed.losses != exact.losses


@pytest.mark.parametrize(
    "name", ["pytorch", "tensorflow", "tensorflow-xla", "mlx", "tinygrad", "chainer"], scope="module"
)
def test_a_step_whose_gradients_overflow_float16_changes_nothing(name, asked, tmp_path):
    # Batch norm of small inputs multiplies the gradients by 300, and the first scale is 2**16: together they overflow
    # float16.
    faint = Model(
        name="faint",
        family="mlp",
        input_shape=(6,),
        layers=(Dense(8), BatchNorm(), Dense(4)),
        head=SoftmaxCrossEntropy(classes=4),
        recipe=RECIPE,
    )
    generator = np.random.default_rng(5)
    inputs, labels = generator.normal(0, 1e-3, (48, 6)).astype(np.float32), generator.integers(0, 4, 48)
    arrays = Arrays(train_inputs=inputs, train_labels=labels, test_inputs=inputs, test_labels=labels)
    data = prepare(replace(data_of(faint), make=lambda: arrays), tmp_path)
    whole = Recipe(batch_size=48, epochs=1, optimizer=Adam(0.1), precision="float16")
    losses = trained(asked, infer(faint), whole, data, steps=24)[0].losses
    # Chainer's first scale is 1, which it doubles until gradients overflow.
    assert name == "chainer" or losses[1] == pytest.approx(losses[0], rel=1e-3)
    assert losses[-1] < 0.8 * losses[0]


@pytest.mark.parametrize("name", ["pytorch", "jax", "tensorflow", "tensorflow-xla"], scope="module")
def test_the_gradient_of_a_bias_sums_the_whole_image(asked, possible, tmp_path):
    # From zeros only the biases learn. In bfloat16 the sum of 51,200 equal numbers stagnates at 256 of them.
    tried = infer(replace(NETWORK.model, input_shape=(1, 40, 40), layers=(Conv2D(4, 1), GlobalAvgPool(), Flatten())))
    inputs, labels = np.zeros((32, 1, 40, 40), np.float32), np.zeros(32, np.int64)
    arrays = Arrays(train_inputs=inputs, train_labels=labels, test_inputs=inputs, test_labels=labels)
    zeros = replace(synthetic_for(tried.model), name="zeros", train_examples=32, test_examples=32, make=lambda: arrays)
    data, recipe = prepare(zeros, tmp_path), replace(RECIPE, optimizer=SGD(0.5))
    exact, _ = trained(asked, tried, recipe, data, steps=5)
    for precision in possible:
        mixed, _ = trained(asked, tried, replace(recipe, precision=precision), data, steps=5)
        assert mixed.losses == pytest.approx(exact.losses, rel=0, abs=BOUNDS[precision])


@pytest.mark.parametrize("name", ["pytorch"], scope="module")
def test_an_lstm_that_pytorch_lacks_in_float16_is_refused_before_it_fails(name, asked, tmp_path):
    tried, recipe = VOCABULARY["lstm"]
    half = replace(recipe, precision="float16")
    built = asked.build(infer(tried), half)
    if isinstance(built, Failed):
        assert (built.kind, "cannot train an LSTM in float16" in built.message) == ("unsupported", True)
    else:
        trained(asked, infer(tried), half, prepare(data_of(tried), tmp_path), steps=2)


def test_a_builder_without_mixed_precision_is_known_before_anything_runs():
    needed = needs(NETWORK, replace(RECIPE, precision="float16"))
    assert needed - supports(FRAMEWORKS["jax"]) == {"float16"}
    assert needed <= supports(FRAMEWORKS["pytorch"])
