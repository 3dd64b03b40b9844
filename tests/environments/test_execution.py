"""Which settings of execution a framework cannot turn on, and why."""

import pytest

from pytest_dlbench.environments import FRAMEWORKS, Framework
from pytest_dlbench.environments.execution import AUTOTUNE_BY_THEMSELVES, REASONS, autotunes, refusal
from pytest_dlbench.environments.supports import supports
from pytest_dlbench.model.recipe import EXECUTION

CURRENT = [name for name, framework in FRAMEWORKS.items() if "legacy" not in framework.marks and framework.builder]


@pytest.mark.parametrize("name", [*CURRENT, "mxnet", "mxnet-imperative"])
@pytest.mark.parametrize("setting", EXECUTION)
def test_on_a_gpu_every_framework_has_a_setting_or_a_reason(name, setting):
    framework = FRAMEWORKS[name]
    reason = refusal(framework, "gpu", [setting])
    assert reason.startswith(f"{setting}=true: {name} cannot: ") or (not reason and setting in supports(framework))


@pytest.mark.parametrize("setting", ["autotune", "cuda_graphs", "tf32"])
def test_processors_lack_what_gpus_have(setting):
    assert refusal(FRAMEWORKS["pytorch"], "cpu", [setting]).startswith(f"{setting}=true on a processor: ")


@pytest.mark.parametrize("name", sorted(AUTOTUNE_BY_THEMSELVES))
def test_what_autotunes_by_itself_does_on_gpus_and_can_be_asked_not_to(name):
    framework = FRAMEWORKS[name]
    assert (autotunes(framework, "gpu"), autotunes(framework, "gpu:1"), autotunes(framework, "cpu")) == (1, 1, 0)
    assert "autotune" in supports(framework)


@pytest.mark.parametrize("name", ["pytorch", "keras-torch", "paddle", "tinygrad"])
def test_others_autotune_only_if_they_are_asked_to(name):
    assert not autotunes(FRAMEWORKS[name], "gpu")


@pytest.mark.parametrize("name", ["jax", "keras-jax", "paddle", "mxnet"])
def test_a_switch_for_gpus_does_not_count_on_processors(name):
    assert "on GPUs only" in refusal(FRAMEWORKS[name], "cpu", ["deterministic"])
    assert not refusal(FRAMEWORKS[name], "gpu", ["deterministic"])


@pytest.mark.parametrize("name", ["pytorch", "pytorch-compile", "tensorflow", "tensorflow-xla", "keras-torch"])
def test_processors_have_deterministic_operations_where_the_framework_has_them(name):
    assert not refusal(FRAMEWORKS[name], "cpu", ["deterministic"])


def test_a_variant_has_what_its_builder_lacks():
    assert "pytorch-compile does" in refusal(FRAMEWORKS["pytorch"], "gpu", ["cuda_graphs"])
    assert not refusal(FRAMEWORKS["pytorch-compile"], "gpu", ["cuda_graphs"])


def test_of_another_builder_no_reason_is_known():
    assert not refusal(Framework(name="own", builder="own"), "gpu", ["tf32"])


def test_reasons_are_those_of_known_settings():
    assert {setting for reasons in REASONS.values() for setting in reasons} <= set(EXECUTION)
