"""The versions of NVIDIA's driver and libraries that a worker records, asked of libraries with their names."""

import sys

import pytest

from pytest_dlbench.running.launch import WORKER_FOLDER
from tests.doubles.shared_libraries import compiled, recorded

sys.path.insert(0, str(WORKER_FOLDER))
from dlworker import cuda_versions

SOURCES = {
    "libcuda.so.1": "int cuDriverGetVersion(int *v) { *v = 13000; return 0; }",
    "libcudart.so.12": "int cudaRuntimeGetVersion(int *v) { *v = 12090; return 0; }",
    "libcudnn.so.9": "#include <stddef.h>\nsize_t cudnnGetVersion(void) { return 91002; }",
}


@pytest.fixture
def libraries(tmp_path):
    return compiled(tmp_path / "libraries", SOURCES)


def test_on_a_gpu_the_driver_and_the_libraries_that_are_loaded_are_asked(libraries, tmp_path):
    found = recorded("loads_cuda", tmp_path, libraries, "gpu")
    assert (found["cuda"], found["cudnn"], found["cuda-driver"]) == ("12.9", "91002", "13.0")


def test_libraries_that_are_neither_loaded_nor_installed_have_no_version():
    assert not {"cuda", "cudnn"} & cuda_versions.versions({"numpy": "2.4.6"}).keys()


def test_on_a_processor_nothing_of_cuda_is_asked(libraries, tmp_path):
    assert not {"cuda", "cudnn", "cuda-driver"} & recorded("loads_cuda", tmp_path, libraries, "cpu").keys()


@pytest.mark.parametrize("runtime", ["nvidia-cuda-runtime", "nvidia-cuda-runtime-cu12", "nvidia-cuda-nvrtc"])
def test_a_library_that_is_loaded_later_has_the_version_of_its_package(runtime):
    packages = {runtime: "13.5.37", "nvidia-cudnn-cu13": "9.28.1.4", "nvidia-cudnn-frontend": "1.0"}
    found = cuda_versions.versions(packages)
    assert (found["cuda"], found["cudnn"]) == ("13.5.37", "9.28.1.4")
