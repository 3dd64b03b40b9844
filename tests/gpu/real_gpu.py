"""A real card through the real NVML: run by tests/gpu/check.sh, and by its name not collected elsewhere."""

import os

import pytest

from pytest_dlbench.sampling.gpu import GpuSampler
from pytest_dlbench.sampling.nvml import open_cards

CARDS = open_cards()


@pytest.mark.parametrize("card", CARDS, ids=lambda card: card.uuid)
class TestCard:
    def test_tells_plausible_figures_or_why_not(self, card):
        reading = card.read()
        for value, least, most in (
            (reading.utilisation, 0, 1),
            (reading.watts, 1, 2000),
            (reading.celsius, 5, 120),
            (reading.sm_mhz, 1, 5000),
        ):
            assert value is None or least <= value <= most
        told = (reading.utilisation, reading.memory_bytes, reading.watts, reading.joules, reading.celsius)
        assert sum(value is None for value in told) <= len(card.absent)

    def test_counts_energy_as_its_power_says(self, card):
        sampler = GpuSampler([card], lambda: (os.getpid(),))
        sampler.begin()
        first = card.read()
        while (last := card.read()).seconds < first.seconds + 2:
            sampler.sample()
        (usage,) = sampler.end()
        if usage.energy_source == "counter" and usage.power_mean_watts:
            # The counter is renewed as seldom as ten times a second.
            assert usage.energy_joules == pytest.approx(
                usage.power_mean_watts * (last.seconds - first.seconds), rel=0.3
            )

    def test_is_found_by_its_own_name(self, card):
        (found,) = open_cards([card.uuid])
        assert found.uuid == card.uuid
