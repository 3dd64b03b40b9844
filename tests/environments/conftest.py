"""Small environments, built from wheels that the tests write, in a folder of the test."""

import sys
from pathlib import Path

import pytest

from pytest_dlbench.environments import Environment, installing
from pytest_dlbench.environments.building import EnvironmentStore
from tests.environments.wheels import write_wheel

HERE = "{}.{}".format(*sys.version_info)


class RecordedProgress:
    """Records the progress of builds."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def building(self, name: str, doing: str) -> None:
        self.lines.append(f"{name}: {doing}")


@pytest.fixture
def progress() -> RecordedProgress:
    return RecordedProgress()


@pytest.fixture
def wheels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The only source of packages, for pip and, through pip's settings, for uv."""
    folder = tmp_path / "wheels"
    write_wheel(folder, "small", "1.0")
    write_wheel(folder, "small", "2.0")
    for name in ("PIP_EXTRA_INDEX_URL", "PIP_INDEX_URL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    installing.pip_settings.cache_clear()
    yield folder
    installing.pip_settings.cache_clear()


@pytest.fixture
def store(tmp_path: Path) -> EnvironmentStore:
    return EnvironmentStore(root=tmp_path / "environments")


@pytest.fixture
def small(wheels: Path) -> Environment:
    return Environment(name="small", python=HERE, requirements=("small==1.0",))
