"""Environments for GPUs: every package pinned, and refused by machines that cannot run them."""

import re
from dataclasses import replace

import pytest
from packaging.requirements import Requirement

from pytest_dlbench.environments import FRAMEWORKS
from pytest_dlbench.environments.building import EnvironmentStore
from pytest_dlbench.environments.cuda import CUDA_9, CUDA_11, CUDA_12, CUDA_13
from pytest_dlbench.environments.placing import Absent, Lack, Places
from pytest_dlbench.environments.requested import exact_version

ENVIRONMENTS = {
    environment.name: (framework, environment)
    for framework in FRAMEWORKS.values()
    for environment in framework.gpu_environments
}
# What shows that a lock is that of a build for GPUs.
LIBRARY = re.compile(r"nvidia-(cudnn-cu|cuda-nvrtc)|jax-cuda|mlx-cuda")
RENAMED = {"mxnet": "mxnet-cu112"}
LOCKED = [name for name in ENVIRONMENTS if name.endswith("-cuda")]


def pins(environment):
    found = map(Requirement, environment.requirements)
    return {pin.name: exact_version(pin) for pin in found}


@pytest.mark.parametrize("name", LOCKED)
def test_every_package_has_one_version(name):
    _, environment = ENVIRONMENTS[name]
    assert all(pins(environment).values())
    assert any(LIBRARY.match(package) for package in pins(environment))


@pytest.mark.parametrize("name", LOCKED)
def test_what_is_pinned_for_processors_has_the_same_version_on_gpus(name):
    framework, environment = ENVIRONMENTS[name]
    usual, on_gpu = pins(framework.environments[0]), pins(environment)
    # Builds for processors alone, whose other name the build for GPUs does not have.
    same = {RENAMED.get(package, package): one for package, one in usual.items() if not package.endswith("-cpu")}
    assert {package: on_gpu.get(package) for package in same} == same


@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_its_libraries_are_those_of_the_cuda_that_it_says_it_needs(name):
    _, environment = ENVIRONMENTS[name]
    found = (re.search(r"-(?:cu|cuda)-?(\d\d)(-|$)", package) for package in pins(environment))
    assert {match[1] for match in found if match} <= {environment.cuda.version}


def test_a_case_on_a_gpu_gets_the_build_for_gpus_and_one_on_the_processor_does_not():
    pytorch = FRAMEWORKS["pytorch"]
    assert pytorch.on("cpu") is pytorch
    assert [one.name for one in pytorch.on("gpu").environments] == ["pytorch-cuda"]


def test_an_environment_that_was_named_is_used_on_any_device():
    named = replace(FRAMEWORKS["pytorch"], is_explicit=True)
    assert named.on("gpu") is named


def test_a_build_for_processors_in_this_python_is_not_used_for_a_gpu():
    here = replace(FRAMEWORKS["pytorch"], needs=("numpy",), gpu_needs=("numpy", "a-library-of-nvidia"))
    assert Places().ready(here) is not None
    assert Places().ready(here.on("gpu")) is None


def test_a_build_for_gpus_that_is_missing_says_how_to_build_it(tmp_path):
    here = replace(FRAMEWORKS["pytorch"], gpu_needs=("a-library-of-nvidia",))
    found = Places(store=EnvironmentStore(root=tmp_path)).find(here.on("gpu"))
    assert isinstance(found, Absent)
    assert "to build it: dlbench env build pytorch-cuda\n" in found.reason


def test_a_framework_whose_build_for_gpus_no_index_has_says_what_to_install():
    found = Places().find(FRAMEWORKS["paddle"].on("gpu"))
    assert isinstance(found, Absent)
    assert found.lack is Lack.NOT_BUILT
    assert found.reason.endswith("to install it: pip install 'paddlepaddle-gpu>=3'")


@pytest.mark.parametrize(
    ("cuda", "model", "capability", "driver", "reason"),
    [
        (CUDA_13, "NVIDIA H100", (9, 0), "580.65.06", ""),
        (CUDA_13, "NVIDIA H100", (9, 0), "580.126.09", ""),
        (CUDA_13, "NVIDIA H100", (9, 0), "550.54.14", "CUDA 13 needs NVIDIA's driver 580.65.06 or newer, *550.54.14"),
        (CUDA_13, "Tesla V100", (7, 0), "580.65.06", "*a compute capability of 7.5 or higher, Tesla V100 has 7.0"),
        (CUDA_12, "Tesla V100", (7, 0), "535.1", ""),
        (CUDA_12, "Tesla K80", (3, 7), "470.82.01", "CUDA 12 needs NVIDIA's driver 525.60.13 or newer, *470.82.01"),
        (CUDA_9, "NVIDIA A100", (8, 0), "550.54.14", "*of 3.5 to 7.5, NVIDIA A100 has 8.0"),
        (CUDA_11, "NVIDIA L4", (8, 9), "535.1", ""),
        (CUDA_11, "NVIDIA H100", (9, 0), "580.65.06", "*of 5.0 to 8.9, NVIDIA H100 has 9.0"),
        (CUDA_9, "Tesla T4", (7, 5), "550.54.14", ""),
        (CUDA_13, "unknown", None, "", ""),
    ],
)
def test_a_machine_that_cannot_run_a_build_is_refused(cuda, model, capability, driver, reason):
    expected = re.escape(reason).replace(r"\*", ".*")
    assert re.fullmatch(expected, cuda.refusal(model, capability, driver))
