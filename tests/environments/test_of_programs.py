"""Where programs run: requirements, files of them, lock files as their own tools export them, and Pythons."""

import shutil
import sys

import pytest

from pytest_dlbench.environments.of_programs import place_of
from pytest_dlbench.errors import OptionError

WHERE = "test_ours"
UV_LOCK = """version = 1
requires-python = ">=3.9"

[[package]]
name = "ours"
version = "0.1.0"
source = { virtual = "." }
dependencies = [{ name = "tomli" }]

[package.metadata]
requires-dist = [{ name = "tomli" }]

[[package]]
name = "tomli"
version = "2.0.1"
source = { registry = "https://example.org/simple" }
"""
PROJECT = '[project]\nname = "ours"\nversion = "0.1.0"\nrequires-python = ">=3.9"\ndependencies = ["tomli"]\n'


def test_a_requirement_becomes_an_environment_of_the_python_that_runs_pytest(tmp_path):
    (environment,) = place_of("torch==2.13.0", tmp_path, WHERE).environments
    assert environment.requirements == ("torch==2.13.0",)
    assert environment.python == f"{sys.version_info.major}.{sys.version_info.minor}"


def test_several_requirements_may_be_a_list(tmp_path):
    found = place_of(["numpy==2.4.6", "scipy>=1"], tmp_path, WHERE)
    assert found.name == "current@numpy2.4.6+scipy__1"
    assert found.environments[0].requirements == ("numpy==2.4.6", "scipy>=1")


def test_a_requirements_file_is_read_relative_to_the_root(tmp_path):
    (tmp_path / "requirements.txt").write_text("# ours\nnumpy==2.4.6\n")
    assert place_of("requirements.txt", tmp_path, WHERE).environments[0].requirements == ("numpy==2.4.6",)


@pytest.mark.parametrize("path", ["", "mine-1.0-py3-none-any.whl"])
def test_a_local_folder_and_a_file_that_is_not_there_are_refused(tmp_path, path):
    with pytest.raises(OptionError, match=r"(is a folder|there is no file).*; build a wheel"):
        place_of([f"mine @ file://{tmp_path}/{path}"], tmp_path, WHERE)


def test_an_existing_python_is_taken_as_it_is(tmp_path):
    found = place_of(sys.executable, tmp_path, WHERE)
    assert (str(found.python), found.environments) == (sys.executable, ())


@pytest.mark.skipif(not shutil.which("uv"), reason="there is no uv, which reads its lock files")
def test_the_pins_of_uv_lock_are_those_that_uv_exports(tmp_path):
    (tmp_path / "pyproject.toml").write_text(PROJECT)
    (tmp_path / "uv.lock").write_text(UV_LOCK)
    (environment,) = place_of("uv.lock", tmp_path, WHERE).environments
    assert environment.requirements == ("tomli==2.0.1",)


def test_a_lock_file_without_its_tool_says_which_command_writes_its_pins(tmp_path, monkeypatch):
    (tmp_path / "poetry.lock").write_text("")
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(OptionError, match=r"there is no program poetry.*poetry export .* > requirements\.txt"):
        place_of("poetry.lock", tmp_path, WHERE)


@pytest.mark.parametrize("given", ["reqirements.txt", "not a requirement", "/no/such/python"])
def test_what_is_no_environment_is_refused_with_the_forms(tmp_path, given):
    with pytest.raises(OptionError, match=r"an environment is a requirement"):
        place_of(given, tmp_path, WHERE)
