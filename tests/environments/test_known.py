"""The table of frameworks: complete, consistent, and pinned."""

import re

import pytest

from pytest_dlbench.environments import FRAMEWORKS
from pytest_dlbench.environments.supports import source
from pytest_dlbench.running import launch

TRAINED = [framework for framework in FRAMEWORKS.values() if not framework.unsupported]
GONE = [framework for framework in FRAMEWORKS.values() if framework.unsupported]
ENVIRONMENTS = {environment.name: environment for framework in TRAINED for environment in framework.environments}


def test_frameworks_are_registered_under_their_names():
    assert all(name == framework.name for name, framework in FRAMEWORKS.items())


@pytest.mark.parametrize("framework", TRAINED, ids=lambda framework: framework.name)
def test_a_framework_has_a_builder_needs_and_an_environment(framework):
    assert source(framework.builder, [launch.WORKER_FOLDER])
    assert framework.needs
    assert framework.environments
    assert any(pin.split("==")[0] == framework.package for pin in framework.environments[0].requirements)


@pytest.mark.parametrize("framework", GONE, ids=lambda framework: framework.name)
def test_an_unavailable_framework_has_a_reason_and_nothing_else(framework):
    assert (framework.builder, framework.environments, framework.needs) == ("", (), ())
    assert "legacy" in framework.marks


@pytest.mark.parametrize("environment", ENVIRONMENTS.values(), ids=list(ENVIRONMENTS))
def test_every_pin_is_exact(environment):
    assert all(re.fullmatch(r"[\w.-]+==[\w.+]+", pin) for pin in environment.requirements)


def test_environments_of_one_name_are_the_same():
    for framework in TRAINED:
        for environment in framework.environments:
            assert ENVIRONMENTS[environment.name] == environment


def test_retired_frameworks_are_marked():
    old = {framework.name for framework in TRAINED if framework.environments[0].python in ("3.6", "3.7", "3.9", "3.10")}
    legacy = {framework.name for framework in TRAINED if "legacy" in framework.marks}
    assert old <= legacy
    assert legacy - old == {"mxnet", "mxnet-imperative", "chainer"}
