"""A real GPU through the real NVML: run by tests/gpu/check.sh; its name keeps pytest from collecting it otherwise."""

import os

import pytest

from pytest_dlbench.sampling.gpu import GpuSampler
from pytest_dlbench.sampling.nvml import open_gpus

GPUS = open_gpus()


@pytest.mark.parametrize("gpu", GPUS, ids=lambda gpu: gpu.uuid)
class TestGpu:
    def test_reports_plausible_values_or_why_not(self, gpu):
        reading = gpu.read()
        for value, least, most in (
            (reading.utilisation, 0, 1),
            (reading.watts, 1, 2000),
            (reading.celsius, 5, 120),
            (reading.sm_mhz, 1, 5000),
        ):
            assert value is None or least <= value <= most
        reported = (reading.utilisation, reading.memory_bytes, reading.watts, reading.joules, reading.celsius)
        assert sum(value is None for value in reported) <= len(gpu.absent)

    def test_counts_energy_consistent_with_its_power(self, gpu):
        sampler = GpuSampler([gpu], lambda: (os.getpid(),))
        sampler.begin()
        first = gpu.read()
        while (last := gpu.read()).seconds < first.seconds + 2:
            sampler.sample()
        (usage,) = sampler.end()
        if usage.energy_source == "counter" and usage.power_mean_watts:
            # The counter may be updated only ten times a second.
            assert usage.energy_joules == pytest.approx(
                usage.power_mean_watts * (last.seconds - first.seconds), rel=0.3
            )

    def test_is_found_by_its_own_name(self, gpu):
        (found,) = open_gpus([gpu.uuid])
        assert found.uuid == gpu.uuid
