"""All samplers of a run together: each phase has what can be read, and what cannot has a reason."""

from time import monotonic

import pynvml
import pytest

from pytest_dlbench.sampling.observer import Observer
from tests.doubles.nvml import A100

# Two phases of a process on a GPU: the UUIDs in each, and what could not be read.
ON_A_GPU = f"""
from {Observer.__module__} import {Observer.__name__} as Sampling
found = Sampling([os.getpid()], time.monotonic(), device="gpu", gpus=given[0])
phases = []
for _ in range(2):
    found.begin()
    found.sample()
    phases.append([gpu.uuid for gpu in found.end().gpus])
answer = [phases, found.absent.get("gpu")]
"""


class Meter:
    """Counts how often it is called."""

    def __init__(self, pid):
        self.pid, self.calls = pid, 0

    def begin(self):
        self.calls = 0

    def sample(self):
        self.calls += 1

    def end(self):
        return {"samples": self.calls, "of_pid": self.pid}


class Broken(Meter):
    """A meter whose first phase has no number."""

    values = (float("nan"), 1.5)

    def __init__(self, pid):
        super().__init__(pid)
        self.left = iter(self.values)

    def end(self):
        return {"x": next(self.left), **super().end()}


@pytest.fixture
def observing(scripted, do):
    """Samples a live process."""

    def observing(**conditions):
        return Observer([scripted.pid], monotonic(), **conditions)

    return observing


def phase(observer):
    observer.begin()
    for _ in range(3):
        observer.sample()
    return observer.end()


def test_the_runs_gpu_is_in_every_phase(nvml):
    nvml.write({**A100, "uuid": "GPU-a"}, {**A100, "uuid": "GPU-b"})
    assert nvml.answer(ON_A_GPU, ["GPU-b"]) == [[["GPU-b"], ["GPU-b"]], None]


def test_a_run_whose_gpus_are_hidden_samples_none(nvml):
    nvml.write(A100)
    assert nvml.answer(ON_A_GPU, []) == [[[], []], "CUDA_VISIBLE_DEVICES hides all GPUs"]


def test_without_a_driver_the_phase_has_no_gpu_and_the_run_has_the_reason(nvml):
    nvml.write(A100, init=pynvml.NVML_ERROR_DRIVER_NOT_LOADED)
    reason = "NVML, the library of NVIDIA's driver: Driver Not Loaded"
    assert nvml.answer(ON_A_GPU, None) == [[[], []], reason]


def test_a_gpu_that_falls_off_the_bus_does_not_end_the_sampling(nvml):
    nvml.write({**A100, "lost": {0: 0, 3: 1}})
    assert nvml.answer(ON_A_GPU, None) == [[["GPU-5f3c"], ["GPU-5f3c"]], None]


def test_a_cpu_run_queries_no_gpu(observing):
    found = observing(device="cpu")
    assert phase(found).gpus == ()
    assert "gpu" not in found.absent


def test_a_users_sampler_is_called_at_every_sample_and_its_figures_are_added(observing, scripted):
    readings = phase(observing(device="cpu", make=[Meter])).readings
    assert (readings["samples"], readings["of_pid"]) == (3, scripted.pid)


def test_a_reading_that_is_not_a_number_is_absent_with_the_reason(observing, scripted):
    found = observing(device="cpu", make=[Broken])
    first, second = phase(found).readings, phase(found).readings
    assert ("x" in first, first["of_pid"], second["x"]) == (False, scripted.pid, 1.5)
    assert found.absent["x"] == "Broken returned nan at the end of a phase"


def test_energy_is_in_the_phase_or_has_a_reason(observing):
    found = observing(device="cpu")
    assert ("package_joules" in phase(found).readings) is ("energy" not in found.absent)
