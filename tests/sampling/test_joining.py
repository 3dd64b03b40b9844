"""The usage of an interrupted phase, combined from its parts."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_dlbench.records import GpuUsage
from pytest_dlbench.sampling.joining import joined
from tests.doubles.records import usage

SHORT = usage(wall_seconds=1.0, foreign_cpus=1.0, core_use=(1.0, 0.0), began_seconds=2.0, load=0.5, rss_mean_bytes=100)
LONG = usage(wall_seconds=3.0, foreign_cpus=0.0, core_use=(0.0, 1.0), began_seconds=9.0, load=1.5, rss_mean_bytes=200)


def test_a_single_part_is_returned_unchanged():
    assert joined([SHORT]) is SHORT


def test_times_and_counts_add_up():
    both = joined([SHORT, LONG])
    assert (both.wall_seconds, both.user_seconds, both.minor_faults, both.samples) == (4.0, 6.0, 10_000, 20)


def test_means_are_weighted_by_time():
    both = joined([SHORT, LONG])
    assert (both.foreign_cpus, both.core_use, both.rss_mean_bytes) == (0.25, (0.25, 0.75), 175)


def test_the_highest_peak_counts():
    assert joined([usage(rss_peak_bytes=3), usage(rss_peak_bytes=5)]).rss_peak_bytes == 5


def test_the_start_is_that_of_the_first_part_and_the_load_that_of_the_last():
    both = joined([SHORT, LONG])
    assert (both.began_seconds, both.load) == (2.0, 1.5)


def test_a_figure_that_one_part_lacks_is_none():
    assert joined([usage(minor_faults=None), usage()]).minor_faults is None


def test_readings_of_energy_add_up():
    parts = [usage(readings={"package_joules": 1.5}), usage(readings={"package_joules": 2.0})]
    assert joined(parts).readings == {"package_joules": 3.5}


def test_the_sum_of_a_reading_that_one_part_lacks_is_not_known():
    parts = [usage(readings={"x": 1.0, "y": 1.0}), usage(readings={"y": 2.0}), usage(readings={"x": 4.0, "y": 4.0})]
    assert joined(parts).readings == joined([joined(parts[:2]), parts[2]]).readings == {"y": 7.0}


def test_a_gpus_energy_is_summed_and_its_memory_is_the_highest():
    gpus = [GpuUsage(name="Acme", uuid="1", energy_joules=10.0, memory_peak_bytes=size) for size in (7, 5)]
    (gpu,) = joined([usage(gpus=(gpu,)) for gpu in gpus]).gpus
    assert (gpu.energy_joules, gpu.memory_peak_bytes, gpu.utilisation) == (20.0, 7, None)


def test_a_gpus_highest_sample_counts_and_its_means_are_weighted_by_time():
    highest = {"utilisation_peak": 1.0, "temperature_peak_celsius": 60.0, "process_memory_peak_bytes": 7}
    mean = {"utilisation": 0.8, "power_mean_watts": 80.0, "sm_clock_mean_mhz": 800.0}
    busy = GpuUsage(name="Acme", uuid="1", **highest, **mean)
    idle = replace(busy, **dict.fromkeys([*highest, *mean], 0.0))
    parts = [usage(wall_seconds=seconds, gpus=(gpu,)) for seconds, gpu in ((1.0, busy), (2.0, idle), (1.0, busy))]
    (gpu,) = joined(parts).gpus
    assert gpu == replace(busy, **{name: value / 2 for name, value in mean.items()})


def test_a_foreign_process_on_a_gpu_is_counted_once():
    gpus = [GpuUsage(name="Acme", uuid="1", foreign_processes=1, slowed_by=(why,)) for why in ("heat", "heat")]
    (gpu,) = joined([usage(gpus=(gpu,)) for gpu in gpus]).gpus
    assert (gpu.foreign_processes, gpu.slowed_by) == (1, ("heat",))


def test_shares_of_throttling_are_weighted_by_time():
    hot = GpuUsage(name="Acme", uuid="1", slowed_by=("heat",), slowed_shares={"heat": 1.0})
    cool = GpuUsage(name="Acme", uuid="1")
    parts = [usage(wall_seconds=1.0, gpus=(hot,)), usage(wall_seconds=3.0, gpus=(cool,))]
    assert joined(parts).gpus[0].slowed_shares == {"heat": 0.25}


@given(st.lists(st.floats(0.1, 100.0), min_size=3, max_size=3), st.lists(st.floats(0, 8), min_size=3, max_size=3))
def test_joining_is_associative(seconds, cpus):
    parts = [usage(wall_seconds=wall, foreign_cpus=cpu) for wall, cpu in zip(seconds, cpus, strict=True)]
    stepwise, at_once = joined([joined(parts[:2]), parts[2]]), joined(parts)
    assert stepwise.wall_seconds == pytest.approx(at_once.wall_seconds)
    assert stepwise.foreign_cpus == pytest.approx(at_once.foreign_cpus)
