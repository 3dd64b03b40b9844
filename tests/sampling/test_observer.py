"""All samplers of a run together: each phase has what can be read, and what cannot has a reason."""

from functools import partial
from time import monotonic

import pynvml
import pytest

from pytest_dlbench.sampling import observer
from pytest_dlbench.sampling.nvml import open_gpus
from pytest_dlbench.sampling.observer import Observer
from tests.doubles.nvml import GPU, FakeNvml


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


@pytest.fixture
def observing(scripted, do, monkeypatch):
    """Samples a live process on a machine with this NVML."""

    def observing(nvml, **conditions):
        monkeypatch.setattr(observer, "open_gpus", partial(open_gpus, nvml=nvml))
        return Observer(scripted.pid, monotonic(), **conditions)

    return observing


def phase(observer):
    observer.begin()
    for _ in range(3):
        observer.sample()
    return observer.end()


def test_the_runs_gpu_is_in_every_phase(observing):
    found = observing(FakeNvml([{**GPU, "uuid": "GPU-a"}, {**GPU, "uuid": "GPU-b"}]), device="gpu", gpus=("GPU-b",))
    assert [[gpu.uuid for gpu in phase(found).gpus] for _ in range(2)] == [["GPU-b"], ["GPU-b"]]
    assert "gpu" not in found.absent


def test_a_run_whose_gpus_are_hidden_samples_none(observing):
    found = observing(FakeNvml(), device="gpu", gpus=())
    assert phase(found).gpus == ()
    assert found.absent["gpu"] == "CUDA_VISIBLE_DEVICES hides all GPUs"


def test_without_a_driver_the_phase_has_no_gpu_and_the_run_has_the_reason(observing):
    no_driver = pynvml.NVMLError(pynvml.NVML_ERROR_DRIVER_NOT_LOADED)
    found = observing(FakeNvml(init=no_driver), device="gpu")
    assert phase(found).gpus == ()
    assert found.absent["gpu"] == "NVML, the library of NVIDIA's driver: Driver Not Loaded"


def test_a_cpu_run_queries_no_gpu(observing):
    found = observing(None, device="cpu")
    assert phase(found).gpus == ()
    assert "gpu" not in found.absent


def test_a_users_sampler_is_called_at_every_sample_and_its_figures_are_added(observing, scripted):
    readings = phase(observing(None, device="cpu", make=[Meter])).readings
    assert (readings["samples"], readings["of_pid"]) == (3, scripted.pid)


def test_energy_is_in_the_phase_or_has_a_reason(observing):
    found = observing(None, device="cpu")
    assert ("package_joules" in phase(found).readings) is ("energy" not in found.absent)
