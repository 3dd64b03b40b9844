"""What an interrupted phase used, from its parts."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_dlbench.records import GpuUsage
from pytest_dlbench.sampling.joining import joined
from tests.doubles.records import usage

SHORT = usage(wall_seconds=1.0, foreign_cpus=1.0, core_use=(1.0, 0.0), began_seconds=2.0, load=0.5, rss_mean_bytes=100)
LONG = usage(wall_seconds=3.0, foreign_cpus=0.0, core_use=(0.0, 1.0), began_seconds=9.0, load=1.5, rss_mean_bytes=200)


def test_a_single_part_is_the_phase():
    assert joined([SHORT]) is SHORT


def test_times_and_counts_add_up():
    both = joined([SHORT, LONG])
    assert (both.wall_seconds, both.user_seconds, both.minor_faults, both.samples) == (4.0, 6.0, 10_000, 20)


def test_means_are_by_time():
    both = joined([SHORT, LONG])
    assert (both.foreign_cpus, both.core_use, both.rss_mean_bytes) == (0.25, (0.25, 0.75), 175)


def test_peaks_are_the_highest():
    assert joined([usage(rss_peak_bytes=3), usage(rss_peak_bytes=5)]).rss_peak_bytes == 5


def test_a_phase_begins_with_its_first_part_and_has_the_last_load():
    both = joined([SHORT, LONG])
    assert (both.began_seconds, both.load) == (2.0, 1.5)


def test_what_one_part_does_not_tell_is_not_told():
    assert joined([usage(minor_faults=None), usage()]).minor_faults is None


def test_readings_of_energy_add_up():
    parts = [usage(readings={"package_joules": 1.5}), usage(readings={"package_joules": 2.0})]
    assert joined(parts).readings == {"package_joules": 3.5}


def test_a_card_has_the_energy_of_all_parts_and_its_highest_memory():
    cards = [GpuUsage(name="Acme", uuid="1", energy_joules=10.0, memory_peak_bytes=size) for size in (7, 5)]
    (card,) = joined([usage(gpus=(card,)) for card in cards]).gpus
    assert (card.energy_joules, card.memory_peak_bytes, card.utilisation) == (20.0, 7, None)


def test_a_process_of_others_on_the_card_is_counted_once():
    cards = [GpuUsage(name="Acme", uuid="1", foreign_processes=1, slowed_by=(why,)) for why in ("heat", "heat")]
    (card,) = joined([usage(gpus=(card,)) for card in cards]).gpus
    assert (card.foreign_processes, card.slowed_by) == (1, ("heat",))


@given(st.lists(st.floats(0.1, 100.0), min_size=3, max_size=3), st.lists(st.floats(0, 8), min_size=3, max_size=3))
def test_it_does_not_matter_in_which_order_parts_are_joined(seconds, cpus):
    parts = [usage(wall_seconds=wall, foreign_cpus=cpu) for wall, cpu in zip(seconds, cpus, strict=True)]
    stepwise, at_once = joined([joined(parts[:2]), parts[2]]), joined(parts)
    assert stepwise.wall_seconds == pytest.approx(at_once.wall_seconds)
    assert stepwise.foreign_cpus == pytest.approx(at_once.foreign_cpus)
