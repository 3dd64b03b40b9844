"""On a machine with GPUs, sessions find them, and the tests of sessions without one pass all the same."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.doubles.nvml import Nvml
from tests.gpu.emulated import with_gpus

ROOT = Path(__file__).parents[2]


@pytest.fixture(params=["visible", "hidden"])
def on_a_machine_with_gpus(request, tmp_path):
    """What a command prints where GPUs exist, which CUDA_VISIBLE_DEVICES hides or not."""
    driver = Nvml(tmp_path)
    hidden = {"CUDA_VISIBLE_DEVICES": ""} if request.param == "hidden" else {}
    if subprocess.run(["unshare", "--mount", "true"], check=False).returncode:
        pytest.skip("mounting a small file system is not allowed here")

    def run(*command):
        return subprocess.run(
            with_gpus(tmp_path, sys.executable, "-m", *command),
            env={**driver.variables, **hidden},
            cwd=ROOT,
            stdout=subprocess.PIPE,
            text=True,
            check=False,
        )

    run.sees = request.param == "visible"
    return run


def test_the_suite_has_cases_on_them_unless_they_are_hidden(on_a_machine_with_gpus):
    done = on_a_machine_with_gpus(
        *("pytest", "bench/test_training.py", "--dlbench-plan", "--dlbench-frameworks=pytorch,theano"),
        *("--dlbench-models=gatech-lenet", "--dlbench-datasets=digits28", "-p", "no:cacheprovider"),
    )
    assert ("2x-nvidia-a100-sxm4-40gb-40-gib-driver-580.65.06" in done.stdout) == on_a_machine_with_gpus.sees
    assert ("pytorch-gatech-lenet-digits28-gpu" in done.stdout) == on_a_machine_with_gpus.sees
    assert "pytorch-gatech-lenet-digits28-cpu" in done.stdout


def test_tests_find_the_devices_of_a_machine_without_them(on_a_machine_with_gpus):
    done = on_a_machine_with_gpus(
        *("pytest", "-q", "-p", "no:cacheprovider", "tests/environments/test_devices.py"),
        "tests/plugin/test_adding.py::test_the_plan_has_its_cases_with_parameters_and_multiply_adds",
    )
    assert done.returncode == 0, done.stdout
