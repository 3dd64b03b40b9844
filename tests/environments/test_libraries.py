"""Which libraries each framework can be asked for, why not, and by which variables."""

from dataclasses import replace

import pytest
from packaging.requirements import Requirement

from pytest_dlbench.environments import FRAMEWORKS, Framework, declared
from pytest_dlbench.environments.building import EnvironmentStore
from pytest_dlbench.environments.execution import refusal
from pytest_dlbench.environments.frameworks import Addition
from pytest_dlbench.environments.libraries import REASONS, VARIABLES, libraries, reason, variables
from pytest_dlbench.environments.placing import Absent, Places
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


@pytest.mark.parametrize("name", TRAINED)
def test_an_environment_for_a_library_has_what_the_usual_one_has_and_the_library(name):
    framework = FRAMEWORKS[name]
    for build in framework.libraries:
        chosen = framework.computing_with(build.name)
        packages = {Requirement(pin).name for pin in build.environment.requirements}
        assert (chosen.environments, build.need) == ((build.environment,), build.need)
        assert {build.need, framework.package, "numpy", "pillow"} <= packages
        assert build.name in libraries(framework)
        assert chosen.to_build == build.environment.name


def test_other_libraries_are_in_the_usual_environment():
    chainer = FRAMEWORKS["chainer"]
    assert chainer.computing_with(None) is chainer.computing_with("openblas") is chainer


def test_an_environment_that_was_named_is_used_with_any_library():
    named = specified("chainer==7.8.1", FRAMEWORKS, "a test")
    assert named.computing_with("ideep") is named


def test_without_the_library_this_python_is_not_used(tmp_path):
    build = Addition(name="ideep", need="a-library", environment=declared.CHAINER_IDEEP)
    here = replace(FRAMEWORKS["chainer"], needs=("numpy",), libraries=(build,))
    places = Places(store=EnvironmentStore(root=tmp_path))
    assert places.ready(here) is not None
    found = places.find(here.computing_with("ideep"))
    assert isinstance(found, Absent)
    assert "to build it: dlbench env build chainer-ideep\n" in found.reason


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
