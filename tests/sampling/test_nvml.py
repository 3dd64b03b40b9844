"""NVIDIA GPUs through a fake NVML; docs/reference/gpu-check.md has the check on a real GPU."""

import inspect

import pynvml
import pytest

from pytest_dlbench.sampling.gpu import GpuSampler
from pytest_dlbench.sampling.nvml import SLOWED, NoGpuError, open_gpus
from tests.doubles.nvml import GPU, FakeNvml

NOT_SUPPORTED = pynvml.NVMLError(pynvml.NVML_ERROR_NOT_SUPPORTED)
FUNCTIONS = [name for name in vars(FakeNvml) if name.startswith("nvml")]


def gpu(**changes):
    return {**GPU, **changes}


def phase(fake, pids=(1,), *, during=None):
    """The usage in a phase with one sample in the middle, before which ``during`` may change the GPUs."""
    sampler = GpuSampler(open_gpus(nvml=fake), lambda: pids)
    sampler.begin()
    if during:
        during(fake.gpus)
    sampler.sample()
    return sampler.end()


class TestFake:
    @pytest.mark.parametrize("name", FUNCTIONS)
    def test_has_the_signatures_of_the_real_module(self, name):
        real = list(inspect.signature(getattr(pynvml, name)).parameters)
        assert list(inspect.signature(getattr(FakeNvml(), name)).parameters) == real

    @pytest.mark.parametrize("name", [*SLOWED, "NVML_TEMPERATURE_GPU", "NVML_CLOCK_SM", "NVMLError"])
    def test_has_the_constants_of_the_real_module(self, name):
        assert getattr(FakeNvml(), name) == getattr(pynvml, name)


class TestAbsence:
    @pytest.mark.parametrize(
        ("code", "reason"),
        [
            (pynvml.NVML_ERROR_LIBRARY_NOT_FOUND, "NVML Shared Library Not Found"),
            (pynvml.NVML_ERROR_DRIVER_NOT_LOADED, "Driver Not Loaded"),
            (pynvml.NVML_ERROR_LIB_RM_VERSION_MISMATCH, "RM has detected an NVML/RM version mismatch"),
        ],
    )
    def test_a_missing_driver_is_reported_with_the_reason(self, code, reason):
        with pytest.raises(NoGpuError, match=reason):
            open_gpus(nvml=FakeNvml(init=pynvml.NVMLError(code)))

    def test_a_driver_without_gpus_is_reported(self):
        with pytest.raises(NoGpuError, match="finds no GPU"):
            open_gpus(nvml=FakeNvml(gpus=[]))

    def test_a_missing_figure_does_not_affect_the_others(self):
        old_driver = pynvml.NVMLError(pynvml.NVML_ERROR_FUNCTION_NOT_FOUND)
        (usage,) = phase(FakeNvml([gpu(celsius=old_driver)]))
        assert usage.temperature_peak_celsius is None
        assert usage.absent == {"temperature": "Function Not Found"}
        assert usage.utilisation == 0.9

    def test_a_missing_figure_of_a_slice_mentions_the_slice(self):
        (usage,) = phase(FakeNvml([gpu(mig=[1, 1], utilisation=NOT_SUPPORTED)]))
        assert usage.utilisation is None
        assert usage.absent == {"utilisation": "Not Supported (MIG slice)"}

    def test_a_missing_figure_of_a_slice_opened_by_name_mentions_the_slice(self):
        whole = gpu(uuid="GPU-a", mig=[1, 1])
        one = gpu(uuid="MIG-b", mig=pynvml.NVMLError(pynvml.NVML_ERROR_INVALID_ARGUMENT), milliwatts=NOT_SUPPORTED)
        (found,) = open_gpus(["MIG-b"], FakeNvml([whole, one]))
        found.read()
        assert found.absent == {"power": "Not Supported (MIG slice)"}

    def test_a_gpu_that_cannot_be_sliced_misses_nothing(self):
        assert phase(FakeNvml())[0].absent == {}


class TestOpenGpus:
    def test_without_names_all_are_opened(self):
        fake = FakeNvml([gpu(uuid="GPU-a"), gpu(uuid="GPU-b")])
        assert [found.uuid for found in open_gpus(nvml=fake)] == ["GPU-a", "GPU-b"]

    def test_gpus_are_found_by_index_and_by_uuid(self):
        fake = FakeNvml([gpu(uuid="GPU-a"), gpu(uuid="GPU-b")])
        assert [found.uuid for found in open_gpus(["1", "GPU-a"], fake)] == ["GPU-b", "GPU-a"]

    def test_the_beginning_of_a_uuid_is_enough_if_it_is_that_of_one_gpu(self):
        fake = FakeNvml([gpu(uuid="GPU-ab1"), gpu(uuid="GPU-ac2")])
        assert [found.uuid for found in open_gpus(["GPU-ac"], fake)] == ["GPU-ac2"]
        with pytest.raises(NoGpuError, match="Not Found"):
            open_gpus(["GPU-a"], fake)

    def test_of_no_names_none_is_opened(self):
        with pytest.raises(NoGpuError, match="CUDA_VISIBLE_DEVICES hides all GPUs"):
            open_gpus((), FakeNvml())

    def test_an_unknown_gpu_is_an_error(self):
        with pytest.raises(NoGpuError, match="Invalid Argument"):
            open_gpus(["7"], FakeNvml())


class TestFigures:
    def test_energy_is_the_difference_of_the_counter(self):
        (usage,) = phase(FakeNvml(), during=lambda gpus: gpus[0].update(millijoules=5_090_000))
        assert (usage.energy_joules, usage.energy_source) == (90.0, "counter")

    def test_energy_without_a_counter_is_integrated_and_marked_so(self):
        (usage,) = phase(FakeNvml([gpu(millijoules=NOT_SUPPORTED)]))
        assert usage.energy_source == "integrated power"
        assert usage.energy_joules > 0

    def test_power_and_utilisation_are_means_memory_and_temperature_are_peaks(self):
        def change(gpus):
            gpus[0].update(milliwatts=0, utilisation=0, memory=20 * 2**30, celsius=40)

        (usage,) = phase(FakeNvml(), during=change)
        # One reading before, two after.
        assert usage.power_mean_watts == pytest.approx(100)
        assert usage.utilisation == pytest.approx(0.3)
        assert (usage.memory_peak_bytes, usage.temperature_peak_celsius) == (20 * 2**30, 61)

    def test_the_workers_memory_is_the_sum_over_its_processes(self):
        (usage,) = phase(FakeNvml([gpu(processes={10: 100, 11: 20, 99: 5000})]), pids=(10, 11))
        assert usage.process_memory_peak_bytes == 120

    def test_foreign_processes_are_counted(self):
        (usage,) = phase(FakeNvml([gpu(processes={10: 100, 98: None, 99: 5000})]), pids=(10,))
        assert usage.foreign_processes == 2

    def test_processes_of_another_pid_namespace_are_not_counted_as_foreign(self):
        (usage,) = phase(FakeNvml([gpu(processes={4711: 100})]), pids=(10,))
        assert usage.foreign_processes is None

    def test_a_throttle_reason_seen_once_is_kept(self):
        hot = pynvml.nvmlClocksThrottleReasonHwThermalSlowdown | pynvml.nvmlClocksThrottleReasonGpuIdle

        (usage,) = phase(FakeNvml([gpu(reasons=hot)]), during=lambda gpus: gpus[0].update(reasons=0))
        assert usage.slowed_by == ("hot (hardware)",)

    @pytest.mark.parametrize("name", SLOWED)
    def test_every_throttle_reason_that_means_trouble_is_reported(self, name):
        (usage,) = phase(FakeNvml([gpu(reasons=getattr(pynvml, name))]))
        assert usage.slowed_by == (SLOWED[name],)

    def test_several_gpus_have_separate_figures(self):
        one, other = phase(FakeNvml([gpu(mhz=1000), gpu(mhz=2000)]))
        assert (one.sm_clock_mean_mhz, other.sm_clock_mean_mhz) == (1000, 2000)
