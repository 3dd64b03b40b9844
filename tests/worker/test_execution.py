"""Settings of execution in real frameworks: what processors have, and that code for GPUs accepts them without one."""

from dataclasses import replace

import pytest

from pytest_dlbench.data.preparation import prepare
from pytest_dlbench.environments import FRAMEWORKS
from pytest_dlbench.environments.execution import refusal
from pytest_dlbench.environments.supports import supports
from pytest_dlbench.model.recipe import EXECUTION
from pytest_dlbench.planning.plan import synthetic_for
from pytest_dlbench.running.messages import Failed
from tests.worker.places import place_of
from tests.worker.sessions import BUILDERS, double, session
from tests.worker.test_mixed_precision import NETWORK, RECIPE

STEPS = 5
CURRENT = ("pytorch", "jax", "tensorflow", "tensorflow-xla", "keras-jax", "keras-tensorflow", "keras-torch")
MORE = ("paddle", "tinygrad", "mlx", "mxnet")


def telling(name):
    place_of(name, "execution")
    known = FRAMEWORKS[name]
    variables = (*known.variables, ("DOUBLE_OF", known.builder))
    return replace(known, builder="tells_execution", folders=(BUILDERS,), variables=variables)


def losses(framework, recipe, folder):
    """Those of some steps with what the recipe sets, and the answers to hello and build."""
    data = prepare(synthetic_for(NETWORK.model), folder / "data")
    with session(framework, folder) as asked:
        hello = asked.hello(execution=recipe.execution)
        assert not isinstance(hello, Failed), hello.traceback
        built = asked.build(NETWORK, recipe)
        trained = asked.train(data, recipe, STEPS)
    return trained.losses, hello, built


@pytest.mark.parametrize("name", ["pytorch", "tensorflow", "keras-tensorflow", "keras-torch"])
def test_only_deterministic_operations_are_used_if_that_is_set(name, tmp_path):
    framework = telling(name)
    found, hello, _ = losses(framework, replace(RECIPE, deterministic=True), tmp_path / "on")
    usual, usually, _ = losses(framework, RECIPE, tmp_path / "off")
    assert (hello.versions["deterministic"], usually.versions["deterministic"]) == ("True", "False")
    assert found == pytest.approx(usual, rel=1e-4)


@pytest.mark.parametrize("name", ["pytorch"])
def test_images_and_filters_stay_channels_last_if_that_is_set(name, tmp_path):
    framework = telling(name)
    found, _, built = losses(framework, replace(RECIPE, channels_last=True), tmp_path / "on")
    usual, _, usually = losses(framework, RECIPE, tmp_path / "off")
    assert (built.description, usually.description) == ("images: [True, True]", "images: []")
    assert found == pytest.approx(usual, rel=1e-4)


@pytest.mark.parametrize("name", [*CURRENT, *MORE])
def test_without_a_gpu_its_settings_are_accepted_and_the_gpu_is_missed(name, tmp_path):
    place_of(name, "execution")
    framework = FRAMEWORKS[name]
    possible = [s for s in EXECUTION if s in supports(framework) and not refusal(framework, "gpu", [s])]
    # The processes of these frameworks end at a flag that XLA does not know.
    with session(framework, tmp_path) as asked:
        hello = asked.hello(device="gpu", execution=possible)
        assert not isinstance(hello, Failed), hello.traceback
        answer = asked.build(NETWORK, RECIPE)
    assert (answer.kind, "GPU" in answer.message.upper()) == ("unsupported", True), answer


@pytest.mark.parametrize("name", ["pytorch-compile"])
def test_channels_last_convolutions_of_processors_are_refused(name, tmp_path):
    place_of(name, "execution")
    recipe = replace(RECIPE, channels_last=True)
    with session(FRAMEWORKS[name], tmp_path) as asked:
        asked.hello(execution=recipe.execution)
        answer = asked.build(NETWORK, recipe)
    assert (answer.kind, "wrong gradients" in answer.message) == ("unsupported", True)


def test_a_builder_that_cannot_set_what_is_set_refuses_it(tmp_path):
    with session(double("numpy_softmax"), tmp_path) as asked:
        answer = asked.hello(execution=["deterministic"])
    assert (answer.kind, "numpy_softmax has no deterministic" in answer.message) == ("unsupported", True)


@pytest.mark.parametrize("name", ["pytorch"])
def test_a_variant_that_does_not_pass_settings_on_refuses_them(name, tmp_path):
    place_of(name, "execution")
    framework = replace(FRAMEWORKS[name], builder="slowed_pytorch", folders=(BUILDERS,))
    with session(framework, tmp_path) as asked:
        answer = asked.hello(execution=["deterministic"])
    assert (answer.kind, "slowed_pytorch has no deterministic" in answer.message) == ("unsupported", True)
