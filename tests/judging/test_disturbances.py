"""Signs that a run measured its neighbours."""

from dataclasses import replace

from pytest_dlbench.judging import disturbances
from tests.doubles.records import run


def with_foreign(cpus, seconds=2.0):
    quiet = run()
    usage = {"train": replace(quiet.usage["train"], foreign_cpus=cpus, wall_seconds=seconds)}
    return replace(quiet, usage={**quiet.usage, **usage})


def test_a_quiet_machine_is_not_worth_a_word():
    assert disturbances([with_foreign(0.05), with_foreign(0.1)]) == ()


def test_neighbours_are_told_with_how_much_they_used_and_in_how_many_runs():
    (warning,) = disturbances([with_foreign(0.05), with_foreign(0.9), with_foreign(1.1)])
    assert "used 1.0 CPUs while 2 of 3 runs trained" in warning


def test_a_phase_of_a_few_ticks_proves_nothing():
    assert disturbances([with_foreign(0.9, seconds=0.05)]) == ()


def test_runs_that_never_trained_say_nothing():
    assert disturbances([replace(run(), usage={})]) == ()
