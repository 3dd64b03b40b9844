"""CUDA's compiler that tinygrad loads on GPUs, where it is a package."""

import os
import subprocess

import pytest

from pytest_dlbench.running.launch import WORKER_FOLDER
from tests.doubles.shared_libraries import compiled
from tests.worker.places import place_of

PROGRAM = "import dlworker.frameworks.tinygrad; from tinygrad.runtime.autogen import nvrtc; print(nvrtc.dll._name)"
NAME = "libnvrtc.so.13"


@pytest.fixture
def loaded(tmp_path):
    """The file that tinygrad loads where packages are in ``tmp_path``."""
    place = place_of("tinygrad")

    def of(**variables):
        paths = os.pathsep.join(map(str, (WORKER_FOLDER, tmp_path)))
        environment = {"PATH": os.environ["PATH"], "PYTHONPATH": paths, "HOME": str(tmp_path), **variables}
        command = [place.python, "-c", PROGRAM]
        return subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout.strip()

    return of


def test_tinygrad_loads_the_package(loaded, tmp_path):
    folder = compiled(tmp_path / "nvidia" / "cu13" / "lib", {NAME: "int nvrtcVersion;"})
    (folder / "libnvrtc-builtins.so.13.0").touch()
    assert loaded() == str(folder / NAME)


def test_tinygrad_loads_what_the_user_names_instead(loaded, tmp_path):
    compiled(tmp_path / "nvidia" / "cu13" / "lib", {NAME: "int nvrtcVersion;"})
    own = compiled(tmp_path / "own", {NAME: "int nvrtcVersion;"}) / NAME
    assert loaded(NVRTC_PATH=str(own)) == str(own)


def test_without_the_package_tinygrad_looks_by_itself(loaded):
    assert "nvidia" not in loaded()
