"""What makes a run invalid, and what does not."""

from dataclasses import replace

import pytest

from pytest_dlbench.judging.invalid import disqualified
from pytest_dlbench.records import POWER_LIMIT, GpuUsage, RunOutcome
from pytest_dlbench.records.reasons import GpuShared, GpuSlowed, OnBattery, Overheated, Stolen, Swapped, Waited
from tests.doubles.records import run, unfinished, usage

QUIET = {"wall_seconds": 10.0, "user_seconds": 18.0, "system_seconds": 1.0, "core_use": (0.95, 0.95)}
# The kernel's own work, a browser, other people's tests: what a CI machine usually runs.
BUSY = {**QUIET, "foreign_cpus": 0.9, "waited_seconds": 15.0, "steal_cpus": 0.2, "throttlings": 3, "major_faults": 50}


def with_training(**changes):
    return replace(run(), usage={"train": usage(**changes)})


@pytest.mark.parametrize("usual", [QUIET, BUSY])
def test_a_usual_machine_is_good_enough(usual):
    assert disqualified(with_training(**usual)) == ()


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        (
            {"foreign_cpus": 1.5, "waited_seconds": 45.0},
            Waited(computed_seconds=19.0, waited_seconds=45.0, foreign_cpus=1.5),
        ),
        ({"steal_cpus": 0.8}, Stolen(stolen=0.8, cpus=2)),
        ({"swapped_in_bytes": 2**26, "major_faults": 5000}, Swapped(read_bytes=2**26)),
        ({"throttlings": 200}, Overheated(times=200)),
    ],
)
def test_trouble_of_the_machine_invalidates_a_run(changes, reason):
    assert disqualified(with_training(**{**QUIET, **changes})) == (reason,)


def test_running_on_battery_invalidates_a_run():
    assert disqualified(replace(with_training(**QUIET), on_battery=True)) == (OnBattery(),)


@pytest.mark.parametrize(
    ("changes", "reasons"),
    [
        ({"slowed_by": ("hot (driver)",)}, (GpuSlowed(gpu="Acme", causes={"hot (driver)": None}),)),
        ({"slowed_by": ("hot (driver)", POWER_LIMIT)}, (GpuSlowed(gpu="Acme", causes={"hot (driver)": None}),)),
        (
            {"slowed_by": ("hot (driver)", "power brake"), "slowed_shares": {"hot (driver)": 0.4, "power brake": 0.02}},
            (GpuSlowed(gpu="Acme", causes={"hot (driver)": 0.4}),),
        ),
        ({"slowed_by": ("hot (driver)",), "slowed_shares": {"hot (driver)": 0.1}}, ()),
        ({"foreign_processes": 2}, (GpuShared(gpu="Acme", processes=2),)),
        # Most GPUs train at their power limit, and in a container the owners of processes are unknown.
        ({"slowed_by": (POWER_LIMIT,)}, ()),
        ({"foreign_processes": None}, ()),
    ],
)
def test_trouble_of_a_gpu_invalidates_a_run_and_its_power_limit_does_not(changes, reasons):
    card = GpuUsage(name="Acme", uuid="GPU-1", **{"foreign_processes": 0, **changes})
    assert disqualified(with_training(**QUIET, gpus=(card,))) == reasons


def test_more_threads_than_cores_do_not_when_nobody_else_is_there():
    assert disqualified(with_training(**{**QUIET, "waited_seconds": 100.0, "foreign_cpus": 0.05})) == ()


def test_what_somebody_else_swaps_does_not():
    assert disqualified(with_training(**{**QUIET, "swapped_in_bytes": 2**30, "major_faults": 0})) == ()


def test_a_training_of_less_than_a_second_says_too_little():
    assert disqualified(with_training(**{**BUSY, "wall_seconds": 0.5, "waited_seconds": 500.0})) == ()


def test_a_run_that_was_not_trained_is_never_invalid():
    assert disqualified(unfinished(RunOutcome.CRASHED)) == ()


def test_figures_of_older_files_do_not():
    assert disqualified(run()) == ()
