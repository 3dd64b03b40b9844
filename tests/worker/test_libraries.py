"""The versions of BLAS and kernel libraries that a worker records, asked of libraries with their names."""

import sys

import numpy as np
import pytest

from pytest_dlbench.running.launch import WORKER_FOLDER
from tests.doubles.shared_libraries import compiled, recorded

sys.path.insert(0, str(WORKER_FOLDER))
from dlworker import libraries

SOURCES = {
    "libcudart.so.12": 'const char *openblas_get_config64_(void) { return "OpenBLAS 0.1.2 USE64BITINT"; }',
    "libcudnn.so.9": """
        #include <stdio.h>
        void mkl_get_version_string(char *buffer, int size) { snprintf(buffer, size, "oneAPI Version 2024.2-Product"); }
        const int *dnnl_version(void) { static const int version[3] = {3, 7, 1}; return version; }
    """,
}


@pytest.fixture
def folder(tmp_path):
    return compiled(tmp_path / "libraries", SOURCES)


def test_libraries_that_a_builder_loads_are_among_the_versions_of_the_run(folder, tmp_path):
    found = recorded("loads_cuda", tmp_path, folder)
    assert (found["mkl"], found["onednn"]) == ("2024.2", "3.7.1")
    assert "0.1.2" in found["openblas"].split(", ")


def test_libraries_that_a_builder_does_not_load_are_not(folder, tmp_path):
    found = recorded("numpy_softmax", tmp_path, folder)
    assert not {"mkl", "onednn"} & found.keys()
    assert "0.1.2" not in found.get("openblas", "")


def test_numpys_openblas_has_the_version_that_numpy_was_built_with(tmp_path):
    built = np.show_config(mode="dicts")["Build Dependencies"]["blas"]
    assert built["name"] == "scipy-openblas"
    assert recorded("numpy_softmax", tmp_path, tmp_path)["openblas"].startswith(built["version"])


def test_asking_a_file_loads_no_library(folder):
    assert libraries.versions([str(folder / name) for name in SOURCES]) == {}
