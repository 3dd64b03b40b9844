"""When the processes of a worker have been idle for so long that it hangs."""

import pytest

from pytest_dlbench.running import idleness
from pytest_dlbench.running.idleness import IDLE_SECONDS, LEAST_CPU_SECONDS, LONGEST_BREAK_SECONDS, Idleness

PERIOD = 10.0


@pytest.fixture
def clock(monkeypatch):
    """The time, which only tests move."""
    now = [100.0]
    monkeypatch.setattr(idleness, "monotonic", lambda: now[0])
    return now


def lasts(clock, found, used, seconds=IDLE_SECONDS + PERIOD):
    """Whether it is too long at any time, if this processor time was used by each time."""
    began, hangs = clock[0], False
    while clock[0] - began < seconds:
        clock[0] += PERIOD
        hangs |= found.lasts(used(clock[0] - began))
    return hangs


def test_a_worker_without_processor_time_hangs_after_ten_minutes(clock):
    assert not lasts(clock, Idleness(1.0), lambda _: 1.0, seconds=IDLE_SECONDS - PERIOD)
    assert lasts(clock, Idleness(1.0), lambda _: 1.0)


def test_a_few_ticks_are_no_work(clock):
    assert lasts(clock, Idleness(1.0), lambda seconds: 1.0 + 0.9 * LEAST_CPU_SECONDS * seconds / IDLE_SECONDS)


@pytest.mark.parametrize("used", [lambda seconds: 1e-3 * seconds, lambda seconds: 1.0 - 1e-3 * seconds])
def test_a_worker_that_computes_a_little_or_whose_children_end_does_not_hang(clock, used):
    assert not lasts(clock, Idleness(used(0.0)), used, seconds=3 * IDLE_SECONDS)


def test_time_in_which_the_machine_was_suspended_does_not_count(clock):
    found = Idleness(1.0)
    clock[0] += max(2 * IDLE_SECONDS, 2 * LONGEST_BREAK_SECONDS)
    assert not found.lasts(1.0)
    assert not lasts(clock, found, lambda _: 1.0, seconds=IDLE_SECONDS - PERIOD)
    assert lasts(clock, found, lambda _: 1.0, seconds=2 * PERIOD)
