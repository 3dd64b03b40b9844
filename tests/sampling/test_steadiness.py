"""Whether equal work takes equal processor time."""

import os
from itertools import count
from time import perf_counter, sleep, thread_time

import pytest

from pytest_dlbench.records.runs import STEADY_CORES
from pytest_dlbench.sampling.steadiness import described, finding, samples, variation, worst

EVEN = [0.001] * 50
# A neighbour uses the same core for a third of the time.
UNEVEN = [0.001] * 33 + [0.002] * 17


def burn(seconds):
    end = thread_time() + seconds
    while thread_time() < end:
        pass


def test_a_core_that_is_shared_now_and_then_varies_by_how_much_that_slows_it():
    assert (variation(EVEN), variation(UNEVEN)) == (1.0, 2.0)


def test_a_few_slow_samples_do_not_count():
    assert variation([*[0.001] * 47, 0.5, 0.5, 0.5]) == 1.0


def test_a_steady_machine_has_no_advice():
    found = described(0, 1.0)
    assert found.state == "equal work takes 1.00 times the processor time at its 90 % quantile as at its 10 % on core 0"
    assert not found.advice


def test_an_unsteady_one_has():
    found = described(3, 2.0)
    assert found.state == "equal work takes 2.00 times the processor time at its 90 % quantile as at its 10 % on core 3"
    assert "other guests" in found.advice


def test_where_threads_cannot_choose_a_core_none_is_named():
    assert described(None, 2.0).state.endswith("as at its 10 %")


def test_work_that_takes_longer_now_and_then_is_seen():
    turns = count()
    found = samples(None, 0.1, lambda: burn(0.002 if next(turns) % 3 else 0.006))
    assert variation(found) > STEADY_CORES


def test_time_without_the_processor_does_not_count():
    turns = count()

    def work():
        sleep(0.001 if next(turns) % 2 else 0.01)
        burn(0.002)

    found = samples(None, 0.2, work)
    assert sum(found) == pytest.approx(0.002 * len(found), rel=0.2)


def test_it_ends_in_time_and_leaves_the_cores_as_they_were():
    usable = os.sched_getaffinity(0)
    began = perf_counter()
    core, varies = worst(0.2)
    assert perf_counter() - began < 5
    assert core in usable
    assert varies >= 1.0
    assert os.sched_getaffinity(0) == usable


def test_doctor_measures_it():
    assert finding().topic == "speed of the cores"
