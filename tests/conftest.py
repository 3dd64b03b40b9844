"""What all tests share."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from pytest_dlbench.environments.devices import VISIBLE
from pytest_dlbench.running import lock_folder
from tests.doubles.nvml import LIBRARY, Nvml, library


@pytest.fixture(scope="session", autouse=True)
def own_locks(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Tests wait neither for measurements on this machine nor for tests of other checkouts."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(lock_folder.VARIABLE, str(tmp_path_factory.mktemp("locks") / "locks"))
        yield


@pytest.fixture(scope="session", autouse=True)
def hidden_gpus() -> Iterator[None]:
    """Tests find the same devices on every machine: none but those of ``nvml``, whose processes unset this."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(VISIBLE, "")
        yield


@pytest.fixture(scope="session")
def nvml_library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """NVML without GPUs, compiled once."""
    return library(tmp_path_factory.mktemp("nvml"))


@pytest.fixture
def nvml(nvml_library: Path, tmp_path: Path) -> Nvml:
    """A driver of NVIDIA that has the GPUs that a test writes."""
    folder = tmp_path / "driver"
    folder.mkdir()
    # The library reads its script in the folder that it is loaded from.
    (folder / LIBRARY).symlink_to(nvml_library)
    return Nvml(folder)


# Slow, and run by themselves: pytest tests/campaign; pytest tests/cluster.
collect_ignore = ["campaign", "cluster"]
