"""Signs that a run measured its neighbours."""

from dataclasses import replace

from pytest_dlbench.judging import disturbances
from pytest_dlbench.records import Contention, Length, WarmUp, reasons
from tests.doubles.records import run, usage


def with_foreign(cpus, seconds=2.0):
    quiet = run()
    usage = {"train": replace(quiet.usage["train"], foreign_cpus=cpus, wall_seconds=seconds)}
    return replace(quiet, usage={**quiet.usage, **usage})


def test_a_quiet_machine_has_no_disturbances():
    assert disturbances([with_foreign(0.05), with_foreign(0.1)]) == ()


def test_neighbours_are_reported_with_how_much_they_used_and_in_how_many_runs():
    (warning,) = disturbances([with_foreign(0.05), with_foreign(0.9), with_foreign(1.1)])
    assert warning == reasons.Neighbours(cpus=1.0, disturbed=2, runs=3)


def test_a_phase_of_a_few_ticks_proves_nothing():
    assert disturbances([with_foreign(0.9, seconds=0.05)]) == ()


def test_cores_whose_speed_varied_are_reported_with_how_much_it_did():
    runs = [replace(run(), core_variation=variation) for variation in (1.1, 1.8, 2.0, None)]
    assert disturbances(runs) == (reasons.UnsteadyCores(variation=1.9, unsteady=2, runs=3),)
    assert disturbances(runs[:1]) == ()


def test_runs_that_never_trained_say_nothing():
    assert disturbances([replace(run(), usage={})]) == ()


def test_an_invalid_run_is_marked_with_its_reason():
    (warning,) = disturbances([run(), replace(run(), invalid=(reasons.OnBattery(),))])
    assert warning == reasons.InvalidRuns(invalid=1, runs=2, first=reasons.OnBattery())


def test_a_training_that_never_settled_is_reported():
    (warning,) = disturbances([replace(run(), warm_up=WarmUp(steps=25, is_steady=False))])
    assert warning == reasons.NeverSteady(unsteady=1, runs=1)


def test_steps_that_end_with_the_recipe_before_they_lasted_as_long_as_asked_are_reported():
    trained = run()
    seconds = sum(trained.training.step_seconds)

    def asked_for(share):
        return replace(trained, length=Length(least_seconds=seconds / share, source="probe"))

    (warning,) = disturbances([asked_for(0.1)])
    assert warning == reasons.TimedTooShort(seconds=seconds, asked_seconds=seconds / 0.1)
    assert disturbances([asked_for(0.9), asked_for(2.0), trained]) == ()


def test_page_faults_are_told_where_the_kernel_takes_much_of_the_time():
    def with_faults(faults, system_seconds):
        return replace(run(), usage={"train": usage(minor_faults=faults, system_seconds=system_seconds)})

    (warning,) = disturbances([with_faults(50_000, 2.0)])
    assert warning == reasons.PageFaults(per_step=1000)
    assert disturbances([with_faults(50_000, 0.1), with_faults(500, 2.0)]) == ()


def test_processes_that_outlived_a_worker_are_named():
    (warning,) = disturbances([replace(run(), survivors=("python3",))])
    assert warning == reasons.Survivors(names=("python3",))


def test_steps_that_were_cut_are_reported_with_their_number():
    runs = [replace(run(), contention=Contention(steps=7, is_cut=is_cut)) for is_cut in (True, True, False)]
    (warning,) = disturbances(runs)
    assert warning == reasons.StepsExcluded(steps=14, runs=2)


def test_first_steps_with_and_without_compiling_are_distinguished():
    cold, warm = (replace(run(), compiled=state) for state in ("cold", "warm"))
    (warning,) = disturbances([cold, warm, warm])
    assert warning == reasons.UnevenCompilation(cold=1, runs=3)
    assert disturbances([cold, cold]) == disturbances([warm, warm]) == ()
