"""Which processors are chosen for a worker."""

import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_dlbench.running import pinning

# Of each processor, the physical core that it is a part of.
machines = st.dictionaries(st.integers(0, 255), st.integers(0, 63).map(str), min_size=1)


@given(machines)
def test_all_are_ranked_once(siblings):
    assert sorted(pinning.by_physical_core(siblings)) == sorted(siblings)


@given(machines, st.integers(1, 300))
def test_no_physical_core_is_chosen_twice_before_each_was_chosen_once(siblings, threads):
    physical = [siblings[core] for core in pinning.by_physical_core(siblings)[:threads]]
    assert len(set(physical)) == min(threads, len(set(siblings.values())))


def test_the_last_are_chosen_first():
    assert pinning.by_physical_core({0: "0", 1: "1", 2: "2", 3: "3"}) == (3, 2, 1, 0)


def test_two_threads_get_two_physical_cores_though_they_are_siblings_by_number():
    assert pinning.by_physical_core({0: "0-1", 1: "0-1", 2: "2-3", 3: "2-3"}) == (3, 1, 2, 0)


def test_a_machine_that_tells_no_siblings_has_each_for_a_core_of_its_own(tmp_path):
    assert set(pinning.ranked(tmp_path)) == os.sched_getaffinity(0)


@pytest.mark.parametrize("threads", [1, 1000])
def test_a_worker_has_as_many_as_it_has_threads_as_far_as_there_are_enough(threads):
    assert len(pinning.cores(threads)) == min(threads, len(os.sched_getaffinity(0)))


def test_a_process_that_is_gone_may_use_none():
    assert pinning.in_force(2**31 - 1) == ()
