"""Energy of a GPU: laws of the integral."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_dlbench.sampling.gpu import GpuReading, energy

times = st.lists(st.floats(0, 1000), min_size=2, max_size=20, unique=True).map(sorted)


def readings(seconds, watts, joules=None):
    pairs = zip(seconds, watts, strict=True)
    return [GpuReading(seconds=time, watts=power, joules=joules) for time, power in pairs]


@given(times, st.floats(0, 1000))
def test_constant_power_integrates_to_power_times_time(seconds, watts):
    found, source = energy(readings(seconds, [watts] * len(seconds)))
    assert found == pytest.approx(watts * (seconds[-1] - seconds[0]))
    assert source == "integrated power"


@given(times)
def test_linearly_rising_power_is_integrated_exactly(seconds):
    found, _ = energy(readings(seconds, seconds))
    assert found == pytest.approx((seconds[-1] ** 2 - seconds[0] ** 2) / 2, abs=1e-6)


@given(times, st.floats(0, 1000))
def test_an_energy_counter_takes_precedence_over_power(seconds, joules):
    assert energy(readings(seconds, [500.0] * len(seconds), joules)) == (0.0, "counter")


def test_a_gpu_that_reports_neither_has_no_energy():
    assert energy([GpuReading(seconds=0.0), GpuReading(seconds=1.0)]) == (None, "")
