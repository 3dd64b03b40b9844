"""Finding the Pythons for the worker's tests, and making their environments."""

from pathlib import Path

import pytest

from tests.worker import interpreters
from tests.worker.interpreters import Interpreter

SHIM = "#!/bin/sh\necho 'pyenv: python3.6: command not found' >&2\nexit 127\n"
PYTHON = "#!/bin/sh\necho 3.6.99\necho /opt/python3.6\n"
INTERPRETER = Interpreter(version="3.6", release="3.6.99", executable="/opt/python3.6")


def put(path: Path, script: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(script)
    path.chmod(0o755)
    return path


@pytest.fixture(autouse=True)
def nothing_else_is_there(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}")
    monkeypatch.setenv("PYENV_ROOT", str(tmp_path / "pyenv"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def test_an_interpreter_is_found_on_path(tmp_path):
    put(tmp_path / "bin/python3.6", PYTHON)
    assert interpreters.find("3.6") == INTERPRETER


def test_a_shim_that_runs_nothing_is_passed_over_for_pyenvs_own(tmp_path):
    put(tmp_path / "bin/python3.6", SHIM)
    put(tmp_path / "pyenv/versions/3.6.99/bin/python", PYTHON)
    assert interpreters.find("3.6") == INTERPRETER


def test_an_interpreter_of_another_version_is_none(tmp_path):
    put(tmp_path / "bin/python3.1", PYTHON)
    assert interpreters.find("3.1") is None


def test_where_there_is_none_none_is_found():
    assert interpreters.find("3.6") is None


def test_required_versions_are_read_from_the_environment(monkeypatch):
    monkeypatch.setenv("DLBENCH_REQUIRE_PYTHONS", "3.6, 3.13,")
    assert interpreters.required() == {"3.6", "3.13"}


class TestEnvironment:
    @pytest.fixture
    def builds(self, monkeypatch):
        """What would be built, and whether it breaks off."""
        calls = []

        def build(interpreter, pins, folder):
            put(folder / f"part-{len(calls)}", "")
            calls.append(pins)
            if len(calls) == 1:
                raise KeyboardInterrupt

        monkeypatch.setattr(interpreters, "_build", build)
        return calls

    def test_is_built_anew_after_a_build_that_was_broken_off_and_then_kept(self, builds):
        with pytest.raises(KeyboardInterrupt):
            interpreters.environment(INTERPRETER)
        python = interpreters.environment(INTERPRETER)
        assert interpreters.environment(INTERPRETER) == python
        assert len(builds) == 2
        assert sorted(part.name for part in python.parents[1].iterdir()) == [interpreters.STAMP, "part-1"]

    def test_is_another_one_for_other_pins(self, builds, monkeypatch):
        builds.append(())
        before = interpreters.environment(INTERPRETER)
        monkeypatch.setitem(interpreters.PINS, "3.6", ("numpy==1.19.4",))
        assert interpreters.environment(INTERPRETER) != before
