"""NVIDIA GPUs as the real pynvml reads them from a library; docs/reference/gpu-check.md has the check on a real GPU."""

import pynvml
import pytest

from pytest_dlbench.sampling.nvml import SLOWED
from tests.doubles.nvml import A100, SLICE, T4, library

OPEN = "answer = [gpu.uuid for gpu in open_gpus(given[0])]"
# A phase with one sample in the middle: three readings.
PHASE = """
sampler = GpuSampler(open_gpus(), lambda: given)
sampler.begin()
sampler.sample()
answer = [asdict(usage) for usage in sampler.end()]
"""
NOT_SUPPORTED, NOT_FOUND, LOST, UNKNOWN = "error:3", "error:6", "error:15", "error:999"
THREE_READINGS = 3


def gpu(**changes):
    return {**A100, **changes}


TWO = gpu(uuid="GPU-a"), gpu(uuid="GPU-b")


@pytest.fixture
def phase(nvml):
    """The usage of these GPUs in a phase of processes."""

    def phase(*gpus, pids=(1,)):
        nvml.write(*gpus)
        return nvml.answer(PHASE, *pids)

    return phase


class TestAbsence:
    @pytest.mark.parametrize(
        ("code", "reason"),
        [
            (pynvml.NVML_ERROR_DRIVER_NOT_LOADED, "Driver Not Loaded"),
            (pynvml.NVML_ERROR_LIB_RM_VERSION_MISMATCH, "RM has detected an NVML/RM version mismatch."),
            (pynvml.NVML_ERROR_NO_PERMISSION, "Insufficient Permissions"),
        ],
    )
    def test_a_driver_that_does_not_work_is_reported_with_the_reason(self, nvml, code, reason):
        nvml.write(A100, init=code)
        assert nvml.answer(OPEN, None) == f"NVML, the library of NVIDIA's driver: {reason}"

    def test_a_missing_library_is_reported(self, nvml):
        (nvml.folder / "libnvidia-ml.so.1").unlink()
        (nvml.folder / "libnvidia-ml.so.1").write_text("no library")
        assert nvml.answer(OPEN, None) == "NVML, the library of NVIDIA's driver: NVML Shared Library Not Found"

    def test_a_driver_without_gpus_is_reported(self, nvml):
        nvml.write()
        assert nvml.answer(OPEN, None) == "NVIDIA's driver finds no GPU"

    @pytest.mark.parametrize(
        ("function", "what"),
        [
            ("nvmlDeviceGetTemperature", "temperature"),
            ("nvmlDeviceGetTotalEnergyConsumption", "energy counter"),
            ("nvmlDeviceGetCurrentClocksThrottleReasons", "reasons for slowing"),
        ],
    )
    def test_a_function_that_an_old_driver_lacks_does_not_affect_the_others(self, nvml, function, what):
        (nvml.folder / "libnvidia-ml.so.1").unlink()
        library(nvml.folder, without=function)
        nvml.write(A100)
        (usage,) = nvml.answer(PHASE, 1)
        assert usage["absent"] == {what: "Function Not Found"}
        assert usage["utilisation"] == 0.9

    def test_a_driver_with_the_older_list_of_processes_reports_them(self, nvml):
        (nvml.folder / "libnvidia-ml.so.1").unlink()
        library(nvml.folder, without="nvmlDeviceGetComputeRunningProcesses_v3")
        nvml.write(gpu(processes="10:100 99:5000"))
        (usage,) = nvml.answer(PHASE, 10)
        assert (usage["process_memory_peak_bytes"], usage["foreign_processes"]) == (100, 1)
        assert usage["absent"] == {}

    def test_an_old_driver_without_slicing_misses_nothing(self, nvml):
        (nvml.folder / "libnvidia-ml.so.1").unlink()
        library(nvml.folder, without="nvmlDeviceGetMigMode")
        nvml.write(A100)
        assert nvml.answer(PHASE, 1)[0]["absent"] == {}

    def test_a_gpu_that_cannot_be_sliced_misses_nothing(self, phase):
        assert phase(A100)[0]["absent"] == {}

    def test_a_missing_figure_of_a_slice_mentions_the_slice(self, phase):
        (usage,) = phase(gpu(mig=1), {**SLICE, "slice_of": 0})
        assert usage["uuid"] == "MIG-b"
        assert usage["absent"]["utilisation"] == "Not Supported (MIG slice)"


class TestOpenGpus:
    def test_without_names_all_are_opened(self, nvml):
        nvml.write(*TWO)
        assert nvml.answer(OPEN, None) == ["GPU-a", "GPU-b"]

    def test_gpus_are_found_by_index_and_by_uuid(self, nvml):
        nvml.write(*TWO)
        assert nvml.answer(OPEN, ["1", "GPU-a"]) == ["GPU-b", "GPU-a"]

    def test_the_beginning_of_a_uuid_is_enough_if_it_is_that_of_one_gpu(self, nvml):
        nvml.write(gpu(uuid="GPU-ab1"), gpu(uuid="GPU-ac2"))
        assert nvml.answer(OPEN, ["GPU-ac"]) == ["GPU-ac2"]
        assert nvml.answer(OPEN, ["GPU-a"]).endswith("Not Found")

    def test_of_no_names_none_is_opened(self, nvml):
        nvml.write(A100)
        assert nvml.answer(OPEN, []) == "CUDA_VISIBLE_DEVICES hides all GPUs"

    def test_an_unknown_gpu_is_an_error(self, nvml):
        nvml.write(A100)
        assert nvml.answer(OPEN, ["7"]).endswith("Invalid Argument")

    @pytest.mark.parametrize("names", [None, ["0"], ["GPU-5f3c"]])
    def test_a_sliced_gpu_is_opened_as_its_slices_because_cuda_cannot_use_the_whole(self, nvml, names):
        nvml.write(gpu(mig=1), {**SLICE, "slice_of": 0}, {**SLICE, "uuid": "MIG-c", "slice_of": 0})
        assert nvml.answer(OPEN, names) == ["MIG-b", "MIG-c"]

    def test_one_slice_is_opened_by_its_own_name(self, nvml):
        nvml.write(gpu(mig=1), {**SLICE, "slice_of": 0}, {**SLICE, "uuid": "MIG-c", "slice_of": 0})
        assert nvml.answer(OPEN, ["MIG-c"]) == ["MIG-c"]

    def test_a_sliced_gpu_without_slices_cannot_be_used(self, nvml):
        nvml.write(gpu(mig=1), T4)
        assert nvml.answer(OPEN, None) == ["GPU-7aa1"]

    def test_a_gpu_that_fell_off_the_bus_does_not_hide_the_others(self, nvml):
        nvml.write(gpu(lost=1), T4)
        assert nvml.answer(OPEN, None) == ["GPU-7aa1"]

    def test_if_all_fell_off_the_bus_that_is_the_reason(self, nvml):
        nvml.write(gpu(lost=1))
        assert nvml.answer(OPEN, None) == "NVML, the library of NVIDIA's driver: GPU is lost"

    def test_a_named_gpu_that_fell_off_the_bus_is_an_error(self, nvml):
        nvml.write(gpu(lost=1), T4)
        assert nvml.answer(OPEN, ["0", "1"]).endswith("GPU is lost")


class TestFigures:
    def test_energy_is_the_difference_of_the_counter(self, phase):
        (usage,) = phase(gpu(millijoules={0: 5_000_000, 2: 5_090_000}))
        assert (usage["energy_joules"], usage["energy_source"]) == (90.0, "counter")

    def test_energy_without_a_counter_is_integrated_and_marked_so(self, phase):
        (usage,) = phase(gpu(millijoules=NOT_SUPPORTED))
        assert usage["energy_source"] == "integrated power"
        assert usage["energy_joules"] > 0

    def test_power_and_utilisation_are_means_memory_and_temperature_are_peaks(self, phase):
        # A reading starts with the utilisation: the rest of the first one is at moment 1.
        (usage,) = phase(
            gpu(
                milliwatts={0: 300_000, 2: 0},
                utilisation={0: 90, 1: 0},
                memory={0: 10 * 2**30, 2: 20 * 2**30},
                celsius={0: 61, 2: 40},
            )
        )
        assert usage["power_mean_watts"] == pytest.approx(300 / THREE_READINGS)
        assert usage["utilisation"] == pytest.approx(0.9 / THREE_READINGS)
        assert (usage["memory_peak_bytes"], usage["temperature_peak_celsius"]) == (20 * 2**30, 61)

    def test_the_workers_memory_is_the_sum_over_its_processes(self, phase):
        (usage,) = phase(gpu(processes="10:100 11:20 99:5000"), pids=(10, 11))
        assert usage["process_memory_peak_bytes"] == 120

    def test_foreign_processes_are_counted_even_if_their_memory_is_not_reported(self, phase):
        (usage,) = phase(gpu(processes="10:100 98:? 99:5000"), pids=(10,))
        assert usage["foreign_processes"] == 2

    def test_processes_of_another_pid_namespace_are_not_counted_as_foreign(self, phase):
        (usage,) = phase(gpu(processes="4711:100"), pids=(10,))
        assert usage["foreign_processes"] is None

    @pytest.mark.parametrize("name", SLOWED)
    def test_every_throttle_reason_that_means_trouble_is_reported(self, phase, name):
        idle = pynvml.nvmlClocksThrottleReasonGpuIdle
        (usage,) = phase(gpu(reasons=getattr(pynvml, name) | idle))
        assert usage["slowed_by"] == [SLOWED[name]]
        assert usage["slowed_shares"] == {SLOWED[name]: 1.0}

    def test_the_share_of_the_readings_with_a_throttle_reason_is_kept(self, phase):
        hot = pynvml.nvmlClocksThrottleReasonHwThermalSlowdown
        (usage,) = phase(gpu(reasons={0: hot, 2: 0}))
        assert usage["slowed_by"] == ["hot (hardware)"]
        assert usage["slowed_shares"] == pytest.approx({"hot (hardware)": 1 / THREE_READINGS})

    def test_several_gpus_have_separate_figures(self, phase):
        one, other = phase(gpu(mhz=1000), gpu(uuid="GPU-b", mhz=2000))
        assert (one["sm_clock_mean_mhz"], other["sm_clock_mean_mhz"]) == (1000, 2000)


SETTINGS = """
sampler = GpuSampler(open_gpus(), lambda: given)
answer = [dict(sampler.settings()), [dict(gpu.absent) for gpu in sampler.gpus]]
"""


class TestSettings:
    def test_limit_modes_and_link_are_those_that_nvml_reports(self, nvml):
        nvml.write(gpu(limit=250_500, ecc=0, pcie_lanes=8))
        found, absent = nvml.answer(SETTINGS)
        assert found == {
            "GPU power limit": "250.5 W",
            "GPU error correction": "off",
            "GPU persistence mode": "on",
            "GPU PCIe": "generation 4, 8 lanes",
        }
        assert absent == [{}]

    def test_several_gpus_have_their_places(self, nvml):
        nvml.write(A100, gpu(uuid="GPU-b", limit=300_000))
        found, _ = nvml.answer(SETTINGS)
        assert (found["GPU 0 power limit"], found["GPU 1 power limit"]) == ("400 W", "300 W")

    @pytest.mark.parametrize(
        ("key", "what", "name"),
        [
            ("limit", "power limit", "power limit"),
            ("ecc", "error correction", "error correction"),
            ("persistence", "persistence mode", "persistence mode"),
            ("pcie_generation", "PCIe generation", "PCIe"),
            ("pcie_lanes", "PCIe lanes", "PCIe"),
        ],
    )
    def test_one_that_is_not_reported_is_absent_with_the_reason(self, nvml, key, what, name):
        nvml.write(gpu(**{key: NOT_SUPPORTED}))
        found, absent = nvml.answer(SETTINGS)
        assert f"GPU {name}" not in found
        assert absent == [{what: "Not Supported"}]


class TestDuringARun:
    def test_a_figure_that_fails_once_is_read_again(self, phase):
        (usage,) = phase(gpu(milliwatts={0: 300_000, 2: UNKNOWN, 3: 100_000}))
        assert usage["power_mean_watts"] == pytest.approx(200)
        assert usage["absent"] == {"power": "Unknown Error"}

    def test_a_gpu_that_falls_off_the_bus_keeps_its_figures_until_then_and_says_so(self, phase):
        (usage,) = phase(gpu(lost={0: 0, 2: 1}))
        assert usage["utilisation"] == 0.9
        assert usage["energy_joules"] is None
        assert set(usage["absent"].values()) == {"GPU is lost"}

    def test_the_other_gpus_are_still_sampled(self, phase):
        lost, other = phase(gpu(lost={0: 0, 2: 1}), gpu(uuid="GPU-b", millijoules={0: 0, 3: 7000}))
        assert lost["energy_joules"] is None
        assert (other["energy_joules"], other["absent"]) == (7.0, {})

    def test_what_changes_while_it_is_sampled_is_seen(self, nvml):
        nvml.write(gpu(millijoules={0: 0, 0.05: 1000, 0.1: 9000}), clock="seconds")
        (usage,) = nvml.answer(
            "sampler = GpuSampler(open_gpus(), lambda: ())\n"
            "began = time.monotonic()\n"
            "sampler.begin()\n"
            "while time.monotonic() < began + 0.2:\n"
            "    sampler.sample()\n"
            "answer = [asdict(usage) for usage in sampler.end()]"
        )
        assert usage["energy_joules"] == 9.0
