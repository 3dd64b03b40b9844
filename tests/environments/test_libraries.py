"""Which libraries each framework can be asked for, why not, and by which variables."""

import pytest

from pytest_dlbench.environments import FRAMEWORKS, Framework
from pytest_dlbench.environments.execution import refusal
from pytest_dlbench.environments.libraries import REASONS, VARIABLES, libraries, reason, variables
from pytest_dlbench.environments.specification import specified

TRAINED = [name for name, framework in FRAMEWORKS.items() if framework.builder]


@pytest.mark.parametrize("name", TRAINED)
def test_every_framework_has_libraries_or_a_reason(name):
    assert bool(libraries(FRAMEWORKS[name])) != bool(reason(FRAMEWORKS[name]))


@pytest.mark.parametrize("name", TRAINED)
def test_a_library_is_refused_with_the_reason_or_with_those_there_are(name):
    said = refusal(FRAMEWORKS[name], "cpu", ["library=none-of-them"])
    assert said.startswith(f"library=none-of-them: {name} cannot: ")
    assert REASONS.get(name, "") in said


def test_keras_has_the_libraries_of_its_back_end():
    assert libraries(FRAMEWORKS["keras-torch"]) == {"mkl", "onednn"}
    assert "it has library=eigen, library=onednn" in refusal(FRAMEWORKS["keras-tensorflow"], "cpu", ["library=mkl"])


def test_chainer_has_no_ideep_for_a_reason():
    assert "for Python 3.6 and 3.7" in refusal(FRAMEWORKS["chainer"], "cpu", ["library=ideep"])


def test_on_a_gpu_there_is_no_choice():
    assert "on a GPU" in refusal(FRAMEWORKS["pytorch"], "gpu", ["library=onednn"])


def test_of_another_builder_nothing_is_known():
    assert not refusal(Framework(name="own", builder="own"), "cpu", ["library=onednn"])


@pytest.mark.parametrize("name", VARIABLES)
def test_every_library_of_a_framework_with_variables_has_one(name):
    assert VARIABLES[name].keys() == libraries(FRAMEWORKS[name])


def test_another_version_of_a_framework_has_its_variables():
    framework = specified("tensorflow==2.16.1", FRAMEWORKS, "a test")
    assert variables(framework, ("deterministic", "library=eigen")) == {"TF_ENABLE_ONEDNN_OPTS": "0"}
    assert variables(framework, ("deterministic",)) == {}
