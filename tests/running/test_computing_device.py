"""What a worker reports to compute on, against the device of its case."""

import sys
from dataclasses import replace
from pathlib import Path

import pytest

from pytest_dlbench.environments import Framework
from pytest_dlbench.environments.frameworks import PROCESSOR_AS_GPU
from pytest_dlbench.environments.placing import CURRENT, Place
from pytest_dlbench.records import ComputeDevice, RunOutcome
from pytest_dlbench.records.problems import OtherDevice
from pytest_dlbench.running.messages import Evaluated
from pytest_dlbench.running.network_dialogue import is_repeated
from pytest_dlbench.running.training import train_once
from tests.running.specs import BUILDERS, spec

POCL = "pthread-haswell-AMD EPYC"


@pytest.fixture(scope="session")
def data_folder(tmp_path_factory):
    return tmp_path_factory.mktemp("data")


def other(requested: str, *, found: str, name: str) -> OtherDevice:
    return OtherDevice(framework="computes_on_what_is_set", requested=requested, found=found, name=name)


@pytest.fixture
def run(data_folder):
    """Train on a device with a double that reports a device."""

    def run(device, *, kind="", name="", builder="computes_on_what_is_set", variables=()):
        usual = spec(builder, data_folder)
        surroundings = {"DOUBLE_KIND": kind, "DOUBLE_NAME": name, **dict(variables)}
        caches = data_folder / "caches"
        place = Place(python=Path(sys.executable), environment=CURRENT, caches=caches, variables=surroundings)
        framework = Framework(name=builder, builder=builder, folders=(BUILDERS,), variables=variables)
        case = replace(usual.case, device=device)
        return train_once(replace(usual, case=case, framework=framework, place=place), 0)

    return run


def test_a_gpu_is_recorded_with_its_kind_and_name(run):
    found = run("gpu", kind="gpu", name="NVIDIA H100")
    assert (found.outcome, found.device) == (RunOutcome.FINISHED, ComputeDevice(kind="gpu", name="NVIDIA H100"))


def test_a_processor_in_place_of_a_gpu_fails_before_training_and_is_named(run):
    found = run("gpu", kind="cpu", name=POCL)
    assert (found.outcome, found.training) == (RunOutcome.FAILED, None)
    assert found.problem == other("gpu", found="cpu", name=POCL)
    assert found.device == ComputeDevice(kind="cpu", name=POCL)


def test_a_test_may_ask_for_a_processor_in_place_of_a_gpu(run):
    found = run("gpu", kind="cpu", name=POCL, variables=((PROCESSOR_AS_GPU, "1"),))
    assert (found.outcome, found.device.kind) == (RunOutcome.FINISHED, "cpu")


def test_a_builder_that_does_not_report_its_gpu_fails(run):
    found = run("gpu", builder="numpy_softmax")
    assert found.outcome is RunOutcome.FAILED
    assert found.problem == OtherDevice(framework="numpy_softmax", requested="gpu")


def test_a_gpu_in_place_of_a_processor_fails(run):
    found = run("cpu", kind="gpu", name="NVIDIA H100")
    assert found.problem == other("cpu", found="gpu", name="NVIDIA H100")


def test_a_case_on_the_processor_needs_no_report(run):
    found = run("cpu", builder="numpy_softmax")
    assert (found.outcome, found.device) == (RunOutcome.FINISHED, None)


class TestRepeatedEvaluation:
    """The same weights, evaluated again: the same results, to the bit except on GPUs."""

    FIRST = Evaluated(loss="0.25", examples=1000, correct=900, seconds=0.1)

    @pytest.mark.parametrize("device", ["cpu", "opencl:cpu"])
    def test_on_a_processor_one_bit_is_a_difference(self, device):
        assert is_repeated(self.FIRST, self.FIRST, device)
        assert not is_repeated(self.FIRST, replace(self.FIRST, loss="0.25000000000000006"), device)

    @pytest.mark.parametrize(
        ("loss", "correct", "is_alike"),
        [("0.25001", 900, True), ("0.25", 901, True), ("0.2501", 900, False), ("0.25", 905, False)],
    )
    def test_on_a_gpu_sums_may_be_in_another_order(self, loss, correct, is_alike):
        assert is_repeated(self.FIRST, replace(self.FIRST, loss=loss, correct=correct), "gpu") is is_alike


def test_a_gpu_in_place_of_opencl_on_the_processor_fails(run):
    found = run("opencl:cpu", kind="gpu", name="NVIDIA H100")
    assert found.outcome is RunOutcome.FAILED
    assert found.problem == OtherDevice(
        framework="computes_on_what_is_set", requested="opencl:cpu", found="gpu", name="NVIDIA H100"
    )
