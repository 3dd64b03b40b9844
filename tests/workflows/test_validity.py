"""Runs of doubles with a planted fault, each of which looks like a good one to whoever reads its figures."""

from dataclasses import replace

import pytest

from pytest_dlbench.judging.sanity import suspicion
from pytest_dlbench.records import MachineSpeed, RunOutcome
from pytest_dlbench.running.dialogue import CHECKS
from pytest_dlbench.running.run_hooks import RunHooks
from pytest_dlbench.running.speed import machine_speed
from pytest_dlbench.running.training import train_once
from pytest_dlbench.workflows.validity import Examiner
from tests.running.specs import spec


def speed(flops_per_second):
    return MachineSpeed(threads=1, precision="float32", flops_per_second=flops_per_second, copied_bytes_per_second=1e9)


def probing(*found):
    """A probe that finds one after the other, and the last again and again."""
    rest = list(found)

    def probe(threads, precision):
        return rest.pop(0) if len(rest) > 1 else rest[0]

    return probe


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("data")


@pytest.fixture
def examined(folder):
    def examined(builder, probe=None, *, foreign_cpus=0.0, **changes):
        asked = spec(builder, folder, **changes)
        hooks = RunHooks(is_suspicious=lambda check: bool(suspicion(check, "cpu")))
        run = beside(foreign_cpus, train_once(asked, 0, hooks))
        return Examiner(probe=probe or probing(speed(1e12))).examine(asked, run)

    return examined


def beside(foreign_cpus, run):
    """The run as if others had used so much: of tests that run side by side it is not known what they do meanwhile."""
    if "check_steps" not in run.usage:
        return run
    checked = replace(run.usage["check_steps"], foreign_cpus=foreign_cpus)
    return replace(run, usage={**run.usage, "check_steps": checked})


def test_what_was_not_timed_is_no_measurement_and_the_machine_is_not_probed_for_it(examined):
    def probe(threads, precision):
        pytest.fail("a probe computes for a second, and is wrong beside others")

    run = examined("numpy_softmax", probe, is_timed=False)
    assert run.invalid == ("it was not timed: others may have computed beside it",)
    assert run.outcome is RunOutcome.FINISHED


@pytest.mark.parametrize(
    ("builder", "words"),
    [
        ("asynchronous", "a missing synchronisation"),
        ("frozen", "steps do not touch the weights"),
        ("leaves_dropout_on", "evaluation changes with repetition"),
        ("runs_out_of_batches", "far from 1:2"),
    ],
)
def test_a_planted_fault_fails_the_run(examined, builder, words):
    run = examined(builder, steps=20)
    assert run.outcome is RunOutcome.FAILED
    assert words in run.message
    assert len(run.step_checks) == CHECKS


@pytest.mark.parametrize("builder", ["asynchronous", "runs_out_of_batches"])
def test_a_fault_of_times_beside_others_is_not_known_and_the_run_done_again(examined, builder):
    run = examined(builder, steps=20, foreign_cpus=1.0)
    assert run.outcome is RunOutcome.FINISHED
    assert "checked 3 times while others used 1.0 CPUs" in run.invalid[-1]


def test_a_sound_builder_passes_the_check_at_once_and_only_in_the_first_run(examined, folder):
    run = examined("clocked", steps=20)
    assert run.outcome is RunOutcome.FINISHED
    assert len(run.step_checks) == 1
    asked, hooks = spec("clocked", folder), RunHooks(is_suspicious=lambda check: check.steps < 0)
    assert train_once(asked, 1, hooks).step_checks == ()
    assert len(train_once(asked, 0, hooks).step_checks) == 1


def test_nothing_is_checked_where_nobody_asks(folder):
    assert train_once(spec("clocked", folder), 0).step_checks == ()


def test_steps_too_long_to_be_taken_again_are_not_and_that_is_told(examined):
    run = examined("takes_long", steps=2)
    assert run.step_checks == ()
    assert run.absent["step check"].startswith("it would take about ")


class TestUtilisation:
    def test_is_the_networks_arithmetic_over_the_peak(self, examined):
        run = examined("clocked", steps=40, probe=probing(speed(1e9)))
        # One layer of 20 × 3, twice: its inputs need no gradient. 16 examples in 2 ms.
        assert run.flop_utilisation == pytest.approx(2 * 2 * 60 * 16 / 0.002 / 1e9)
        assert run.outcome is RunOutcome.FINISHED

    def test_the_work_of_a_step_is_kept_with_it_whatever_the_machine_tells(self, examined):
        run = examined("clocked", steps=40, probe=probing(None))
        # 63 trained numbers read and written, 3 made four times and 20 read of each of 16 examples.
        assert (run.work.flops, run.work.least_bytes) == (2 * 2 * 60 * 16, 4 * (2 * 63 + 16 * (4 * 3 + 20)))

    def test_of_more_than_the_machine_has_fails_the_run(self, examined):
        run = examined("clocked", probe=probing(speed(1e3)))
        assert run.outcome is RunOutcome.FAILED
        assert "of the arithmetic that this machine is capable of" in run.message

    def test_is_of_the_best_of_three_probes_where_the_first_was_disturbed(self, examined):
        run = examined("clocked", probe=probing(speed(1e3), speed(1e2), speed(1e12)))
        assert run.outcome is RunOutcome.FINISHED
        assert run.speed.flops_per_second == 1e12

    def test_is_absent_where_the_probe_fails(self, examined):
        run = examined("clocked", probe=probing(None))
        assert (run.outcome, run.flop_utilisation) == (RunOutcome.FINISHED, None)
        assert "machine speed" in run.absent

    def test_is_measured_once_a_session(self, folder):
        probed = []

        def probe(threads, precision):
            probed.append((threads, precision))
            return speed(1e12)

        examiner, asked = Examiner(probe=probe), spec("clocked", folder)
        for index in (0, 1):
            examiner.examine(asked, train_once(asked, index))
        assert probed == [(1, "float32")]


def test_what_did_not_finish_is_left_as_it_is(examined):
    run = examined("raises")
    assert run.outcome is RunOutcome.FAILED
    assert (run.speed, run.warm_up) == (None, None)


class TestSpeed:
    def test_of_this_machine_is_found_by_a_process_of_its_own(self):
        found = machine_speed(1, "float32")
        assert (found.threads, found.precision) == (1, "float32")
        assert found.flops_per_second > 1e8
        assert found.copied_bytes_per_second > 1e7
        assert 0 < found.launch_seconds < 1e-2

    def test_of_a_precision_that_numpy_has_not_is_none(self):
        assert machine_speed(1, "int7") is None
