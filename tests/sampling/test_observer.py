"""Everything that is read beside a run, as one: what there is is in the phase, and what there is not has its reason."""

from functools import partial
from time import monotonic

import pynvml
import pytest

from pytest_dlbench.sampling import observer
from pytest_dlbench.sampling.nvml import open_cards
from pytest_dlbench.sampling.observer import Observer
from tests.doubles.nvml import CARD, FakeNvml


class Meter:
    """Counts how often it is called."""

    def __init__(self, pid):
        self.pid, self.calls = pid, 0

    def begin(self):
        self.calls = 0

    def sample(self):
        self.calls += 1

    def end(self):
        return {"looks": self.calls, "of_pid": self.pid}


@pytest.fixture
def observing(obedient, do, monkeypatch):
    """An observer of a live process on a machine with this NVML."""

    def observing(nvml, **conditions):
        monkeypatch.setattr(observer, "open_cards", partial(open_cards, nvml=nvml))
        return Observer(obedient.pid, monotonic(), **conditions)

    return observing


def phase(observer):
    observer.begin()
    for _ in range(3):
        observer.sample()
    return observer.end()


def test_a_card_of_the_run_is_in_every_phase(observing):
    found = observing(FakeNvml([{**CARD, "uuid": "GPU-a"}, {**CARD, "uuid": "GPU-b"}]), device="gpu", card="GPU-b")
    assert [[card.uuid for card in phase(found).gpus] for _ in range(2)] == [["GPU-b"], ["GPU-b"]]
    assert "gpu" not in found.absent


def test_without_a_driver_the_phase_has_no_card_and_the_run_the_reason(observing):
    no_driver = pynvml.NVMLError(pynvml.NVML_ERROR_DRIVER_NOT_LOADED)
    found = observing(FakeNvml(init=no_driver), device="gpu")
    assert phase(found).gpus == ()
    assert found.absent["gpu"] == "NVML, the library of NVIDIA's driver: Driver Not Loaded"


def test_a_run_on_processors_asks_no_card(observing):
    found = observing(None, device="cpu")
    assert phase(found).gpus == ()
    assert "gpu" not in found.absent


def test_somebody_elses_sampler_is_called_at_every_look_and_its_figures_join(observing, obedient):
    readings = phase(observing(None, device="cpu", make=[Meter])).readings
    assert (readings["looks"], readings["of_pid"]) == (3, obedient.pid)


def test_energy_is_in_the_phase_or_has_its_reason(observing):
    found = observing(None, device="cpu")
    assert ("package_joules" in phase(found).readings) is ("energy" not in found.absent)
