"""Finding a Python on a machine that has only what each test puts there."""

from pathlib import Path

import pytest

from pytest_dlbench.environments import interpreters
from pytest_dlbench.environments.interpreters import Interpreter
from pytest_dlbench.errors import EnvironmentMissingError, OptionError

SHIM = "#!/bin/sh\necho 'pyenv: python3.6: command not found' >&2\nexit 127\n"
PYTHON = "#!/bin/sh\necho 3.6.99\necho /opt/python3.6\n"
INTERPRETER = Interpreter(release="3.6.99", executable="/opt/python3.6")


def put(path: Path, script: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(script)
    path.chmod(0o755)
    return path


@pytest.fixture(autouse=True)
def no_other_interpreters(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}")
    monkeypatch.setenv("PYENV_ROOT", str(tmp_path / "pyenv"))
    monkeypatch.setattr(interpreters, "uv", lambda: None)
    interpreters.find.cache_clear()
    yield
    interpreters.find.cache_clear()


def test_an_interpreter_is_found_on_path(tmp_path):
    put(tmp_path / "bin/python3.6", PYTHON)
    assert interpreters.find("3.6") == INTERPRETER


def test_an_inactive_shim_is_skipped_for_pyenvs_own_interpreter(tmp_path):
    put(tmp_path / "bin/python3.6", SHIM)
    put(tmp_path / "pyenv/versions/3.6.99/bin/python", PYTHON)
    assert interpreters.find("3.6") == INTERPRETER


def test_an_interpreter_of_another_version_is_not_found(tmp_path):
    put(tmp_path / "bin/python3.1", PYTHON)
    assert interpreters.find("3.1") is None


def test_without_interpreters_none_is_found():
    assert interpreters.find("3.6") is None


def test_an_interpreter_is_found_through_uv(tmp_path, monkeypatch):
    python = put(tmp_path / "uv-pythons/python", PYTHON)
    uv = put(tmp_path / "uv", f"#!/bin/sh\n[ $1 = python ] && [ $2 = find ] && echo {python}\n")
    monkeypatch.setattr(interpreters, "uv", lambda: str(uv))
    assert interpreters.find("3.6") == INTERPRETER


def test_a_python_that_cannot_create_environments_is_skipped(tmp_path):
    put(tmp_path / "bin/python3.6", "#!/bin/sh\necho 'No module named ensurepip' >&2\nexit 1\n")
    assert interpreters.find("3.6") is None


def test_an_interpreter_has_a_minor_version():
    assert INTERPRETER.version == "3.6"


def test_a_missing_python_is_reported_with_three_ways_to_get_it():
    error = interpreters.missing("3.6", "cntk")
    assert isinstance(error, EnvironmentMissingError)
    lines = str(error).splitlines()
    assert "'cntk' needs Python 3.6" in lines[0]
    assert [line.split()[0] for line in lines[1:]] == ["pyenv", "conda", "use"]
    assert "--dlbench-python cntk=/path/to/python3.6" in lines[3]


def test_for_a_newer_missing_python_uv_is_suggested():
    assert "uv python install 3.9" in str(interpreters.missing("3.9", "theano"))


def test_a_chosen_python_of_another_version_is_refused(tmp_path):
    python = put(tmp_path / "mine", PYTHON)
    assert interpreters.chosen(str(python), "3.6", "--dlbench-python cntk") == INTERPRETER
    with pytest.raises(OptionError, match=r"--dlbench-python cntk: expected Python 3\.7, '.*mine' is 3\.6\.99"):
        interpreters.chosen(str(python), "3.7", "--dlbench-python cntk")


def test_a_chosen_file_that_is_not_a_python_is_refused(tmp_path):
    with pytest.raises(OptionError, match="is not a Python that can create environments"):
        interpreters.chosen(str(tmp_path / "nothing"), "3.6", "--dlbench-python cntk")


def test_choices_are_read_by_environment():
    assert interpreters.parse_choices("cntk=/a/python, theano=/b", "--dlbench-python") == {
        "cntk": "/a/python",
        "theano": "/b",
    }


@pytest.mark.parametrize("text", ["cntk", "=/a/python", "cntk="])
def test_a_choice_without_a_name_or_a_path_is_refused(text):
    with pytest.raises(OptionError, match="expected ENVIRONMENT=/path/to/python, got"):
        interpreters.parse_choices(text, "--dlbench-python")
