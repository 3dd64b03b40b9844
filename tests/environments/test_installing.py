"""The user's pip settings, as pip lists them and as uv accepts them."""

from itertools import pairwise
from pathlib import Path

import pytest

from pytest_dlbench.environments import Environment, installing
from pytest_dlbench.environments.interpreters import Interpreter

LINES = (
    "global.index-url='https://mirror.example/simple'",
    "global.timeout='60'",
    "install.find-links='/wheels /more'",
    ":env:.index-url='https://nearer.example/simple'",
    "global.extra-index-url='https://a.example\\nhttps://b.example'",
)


@pytest.fixture
def settings(monkeypatch):
    def settings(lines):
        monkeypatch.setattr(installing, "pip_settings", lambda: installing.parse_pip_settings(lines))

    return settings


def command(python: str = "3.11.7", **changes):
    environment = Environment(**{"name": "x", "python": python[:-2], "requirements": ("x==1",), **changes})
    ways = installing.ways(environment, Interpreter(release=python, executable="/python"), Path("/folder"))
    return {tool: commands[-1] for tool, commands in ways}


def test_settings_are_read_by_key_and_variables_take_precedence():
    assert installing.parse_pip_settings(LINES) == {
        "index-url": ("https://nearer.example/simple",),
        "timeout": ("60",),
        "find-links": ("/wheels", "/more"),
        "extra-index-url": ("https://a.example", "https://b.example"),
    }


def test_settings_of_other_commands_are_ignored():
    assert installing.parse_pip_settings(["list.format='json'", "freeze.timeout='10'"]) == {}


def test_uv_gets_pips_settings(settings):
    settings(LINES)
    given = command()["uv"]
    pairs = list(pairwise(given))
    assert ("--index-url", "https://nearer.example/simple") in pairs
    assert ("--find-links", "/wheels") in pairs
    assert ("--find-links", "/more") in pairs
    assert ("--extra-index-url", "https://b.example") in pairs
    assert "60" not in given


def test_uv_uses_no_index_if_pip_uses_none(settings):
    settings([":env:.no-index='1'"])
    assert "--no-index" in command()["uv"]


def test_a_missing_local_index_is_skipped_as_by_pip(settings):
    settings(["global.extra-index-url='file:///not/there'"])
    assert "file:///not/there" not in command()["uv"]


def test_uv_comes_first_and_pip_is_the_fallback(settings):
    settings([])
    assert list(command()) == ["uv", "pip"]


@pytest.mark.parametrize("python", ["3.6.15", "3.7.16"])
def test_a_python_that_uv_does_not_support_uses_pip(settings, python):
    settings([])
    assert list(command(python)) == ["pip"]


def test_python_3_6_gets_a_pip_that_finds_its_wheels(settings):
    environment = Environment(name="x", python="3.6", requirements=("x==1",))
    interpreter = Interpreter(release="3.6.15", executable="/python")
    ((_, commands),) = installing.ways(environment, interpreter, Path("/folder"))
    assert "pip==21.3.1" in commands[1]


def test_build_constraints_of_source_distributions_apply_to_uv_and_pip(settings, tmp_path):
    settings([])
    environment = Environment(name="x", python="3.11", requirements=("x==1",), build_constraints=("setuptools<66",))
    assert "--build-constraints" in command(build_constraints=("setuptools<66",))["uv"]
    given = installing.variables(environment, tmp_path / "x")
    assert given["PIP_CONSTRAINT"] == str(tmp_path / "x-build-constraints.txt")


def test_uv_compiles_what_it_installs_unless_its_own_variable_is_set(settings, monkeypatch, tmp_path):
    settings([])
    environment = Environment(name="x", python="3.11", requirements=("x==1",))
    monkeypatch.delenv("UV_COMPILE_BYTECODE", raising=False)
    assert installing.variables(environment, tmp_path / "x")["UV_COMPILE_BYTECODE"] == "1"
    monkeypatch.setenv("UV_COMPILE_BYTECODE", "0")
    assert installing.variables(environment, tmp_path / "x")["UV_COMPILE_BYTECODE"] == "0"
