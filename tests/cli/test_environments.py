"""``dlbench env build``: every environment that was asked for has its own result."""

import json

import pytest

from pytest_dlbench.cli.main import main
from pytest_dlbench.environments.building import EnvironmentStore
from pytest_dlbench.errors import EnvironmentBuildError

VERSIONS = ("pytorch==2.12.0", "pytorch==2.13.0")


@pytest.fixture
def build(monkeypatch, capsys):
    """Build with a store that cannot build torch 2.12.0; returns the exit status, the answer and the errors."""

    def built(_store, environment, progress):
        progress.building(environment.name, "building")
        if "torch==2.12.0" in environment.requirements:
            raise EnvironmentBuildError("environment 'pytorch' could not be built")

    monkeypatch.setattr(EnvironmentStore, "find", lambda *_: None)
    monkeypatch.setattr(EnvironmentStore, "build", built)

    def run(*names):
        status = main(["env", "build", *names, "--json"])
        found = capsys.readouterr()
        return status, json.loads(found.out), found.err

    return run


@pytest.mark.parametrize("order", [1, -1])
def test_a_version_that_was_built_does_not_hide_one_that_failed(build, order):
    status, listed, errors = build(*VERSIONS[::order])
    assert status == 1
    assert {one["name"]: one["is_built"] for one in listed} == dict(zip(VERSIONS, (False, True), strict=True))
    assert "dlbench: pytorch==2.12.0: environment 'pytorch' could not be built" in errors


def test_progress_names_the_version(build):
    _, _, lines = build(*VERSIONS)
    assert all(f"{version}: building" in lines for version in VERSIONS)


def test_an_environment_that_is_named_by_its_framework_has_its_own_name(build):
    status, listed, _ = build("keras-jax", "pytorch")
    assert status == 0
    assert [one["name"] for one in listed] == ["keras-jax", "pytorch"]
