"""NVIDIA's cards through a library that answers as told; a real one was not at hand (docs/reference/gpu-check.md)."""

import inspect

import pynvml
import pytest

from pytest_dlbench.sampling.gpu import GpuSampler
from pytest_dlbench.sampling.nvml import SLOWED, NoCardsError, open_cards
from tests.doubles.nvml import CARD, FakeNvml

NOT_SUPPORTED = pynvml.NVMLError(pynvml.NVML_ERROR_NOT_SUPPORTED)
FUNCTIONS = [name for name in vars(FakeNvml) if name.startswith("nvml")]


def card(**changes):
    return {**CARD, **changes}


def phase(fake, pids=(1,), *, during=None):
    """The figures of a phase with one sample in the middle, before which the cards may change."""
    sampler = GpuSampler(open_cards(nvml=fake), lambda: pids)
    sampler.begin()
    if during:
        during(fake.cards)
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
    def test_of_the_driver_has_its_reason(self, code, reason):
        with pytest.raises(NoCardsError, match=reason):
            open_cards(nvml=FakeNvml(init=pynvml.NVMLError(code)))

    def test_of_any_card_has_its_reason(self):
        with pytest.raises(NoCardsError, match="knows no card"):
            open_cards(nvml=FakeNvml(cards=[]))

    def test_of_one_figure_leaves_the_others(self):
        old_driver = pynvml.NVMLError(pynvml.NVML_ERROR_FUNCTION_NOT_FOUND)
        (usage,) = phase(FakeNvml([card(celsius=old_driver)]))
        assert usage.temperature_peak_celsius is None
        assert usage.absent == {"temperature": "Function Not Found"}
        assert usage.utilisation == 0.9

    def test_on_a_slice_says_that_it_is_one(self):
        (usage,) = phase(FakeNvml([card(mig=[1, 1], utilisation=NOT_SUPPORTED)]))
        assert usage.utilisation is None
        assert usage.absent == {"utilisation": "Not Supported (the card is sliced, MIG)"}

    def test_on_a_slice_that_is_named_says_so_too(self):
        whole = card(uuid="GPU-a", mig=[1, 1])
        one = card(uuid="MIG-b", mig=pynvml.NVMLError(pynvml.NVML_ERROR_INVALID_ARGUMENT), milliwatts=NOT_SUPPORTED)
        (found,) = open_cards(["MIG-b"], FakeNvml([whole, one]))
        found.read()
        assert found.absent == {"power": "Not Supported (the card is sliced, MIG)"}

    def test_of_slicing_itself_is_nothing_to_tell(self):
        assert phase(FakeNvml())[0].absent == {}


class TestCards:
    def test_are_all_without_names(self):
        fake = FakeNvml([card(uuid="GPU-a"), card(uuid="GPU-b")])
        assert [found.uuid for found in open_cards(nvml=fake)] == ["GPU-a", "GPU-b"]

    def test_are_found_by_index_and_by_uuid(self):
        fake = FakeNvml([card(uuid="GPU-a"), card(uuid="GPU-b")])
        assert [found.uuid for found in open_cards(["1", "GPU-a"], fake)] == ["GPU-b", "GPU-a"]

    def test_that_are_not_there_are_told(self):
        with pytest.raises(NoCardsError, match="Invalid Argument"):
            open_cards(["7"], FakeNvml())


class TestFigures:
    def test_energy_is_the_counters_difference(self):
        (usage,) = phase(FakeNvml(), during=lambda cards: cards[0].update(millijoules=5_090_000))
        assert (usage.energy_joules, usage.energy_source) == (90.0, "counter")

    def test_energy_of_a_card_without_a_counter_is_integrated_and_says_so(self):
        (usage,) = phase(FakeNvml([card(millijoules=NOT_SUPPORTED)]))
        assert usage.energy_source == "integrated power"
        assert usage.energy_joules > 0

    def test_power_and_utilisation_are_means_and_memory_and_heat_peaks(self):
        def change(cards):
            cards[0].update(milliwatts=0, utilisation=0, memory=20 * 2**30, celsius=40)

        (usage,) = phase(FakeNvml(), during=change)
        # One reading before, two after.
        assert usage.power_mean_watts == pytest.approx(100)
        assert usage.utilisation == pytest.approx(0.3)
        assert (usage.memory_peak_bytes, usage.temperature_peak_celsius) == (20 * 2**30, 61)

    def test_memory_of_the_worker_is_that_of_its_processes(self):
        (usage,) = phase(FakeNvml([card(processes={10: 100, 11: 20, 99: 5000})]), pids=(10, 11))
        assert usage.process_memory_peak_bytes == 120

    def test_processes_of_others_are_counted(self):
        (usage,) = phase(FakeNvml([card(processes={10: 100, 98: None, 99: 5000})]), pids=(10,))
        assert usage.foreign_processes == 2

    def test_processes_of_another_namespace_cannot_be_told_apart(self):
        (usage,) = phase(FakeNvml([card(processes={4711: 100})]), pids=(10,))
        assert usage.foreign_processes is None

    def test_reasons_for_slowing_are_kept_if_they_were_there_once(self):
        hot = pynvml.nvmlClocksThrottleReasonHwThermalSlowdown | pynvml.nvmlClocksThrottleReasonGpuIdle

        (usage,) = phase(FakeNvml([card(reasons=hot)]), during=lambda cards: cards[0].update(reasons=0))
        assert usage.slowed_by == ("hot (hardware)",)

    @pytest.mark.parametrize("name", SLOWED)
    def test_every_reason_that_is_trouble_is_told(self, name):
        (usage,) = phase(FakeNvml([card(reasons=getattr(pynvml, name))]))
        assert usage.slowed_by == (SLOWED[name],)

    def test_of_several_cards_are_apart(self):
        one, other = phase(FakeNvml([card(mhz=1000), card(mhz=2000)]))
        assert (one.sm_clock_mean_mhz, other.sm_clock_mean_mhz) == (1000, 2000)
