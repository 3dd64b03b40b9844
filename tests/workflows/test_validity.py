"""Runs with a planted fault, each of which has plausible figures."""

from dataclasses import replace
from unittest.mock import ANY

import pytest

from pytest_dlbench.judging.metric import Metric
from pytest_dlbench.judging.metrics import METRICS, extended
from pytest_dlbench.judging.sanity import suspicion
from pytest_dlbench.model import Cosine
from pytest_dlbench.records import Alternation, ComputeDevice, MachineSpeed, RunOutcome
from pytest_dlbench.records.problems import (
    AboveDataSheet,
    EvaluationVaries,
    LossBelowBound,
    LossesRepeat,
    NotAwaited,
    NotDouble,
    StepsChangeNothing,
    TooFast,
)
from pytest_dlbench.records.reasons import NotTimed, StepsUnclear
from pytest_dlbench.running.dialogue import CHECKS
from pytest_dlbench.running.network_dialogue import updating_steps
from pytest_dlbench.running.run_hooks import RunHooks
from pytest_dlbench.running.speed import machine_speed
from pytest_dlbench.running.training import train_once
from pytest_dlbench.workflows.validity import Examiner
from tests.running.specs import spec


def speed(flops_per_second):
    return MachineSpeed(threads=1, precision="float32", flops_per_second=flops_per_second, copied_bytes_per_second=1e9)


def probing(*found):
    """A probe that returns these in order, and then the last one again and again."""
    rest = list(found)

    def probe(threads, precision):
        return rest.pop(0) if len(rest) > 1 else rest[0]

    return probe


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("data")


@pytest.fixture(scope="module")
def trained(folder):
    return train_once(spec("numpy_softmax", folder), 0, RunHooks())


@pytest.fixture
def examined(folder):
    def examined(builder, probe=None, *, foreign_cpus=0.0, **changes):
        asked = spec(builder, folder, **changes)
        hooks = RunHooks(is_suspicious=lambda check: bool(suspicion(check, "cpu")))
        run = with_foreign_use(foreign_cpus, train_once(asked, 0, hooks))
        return Examiner(probe=probe or probing(speed(1e12))).examine(asked, run)

    return examined


def with_foreign_use(foreign_cpus, run):
    """The run as if other processes had used that many CPUs; the real number depends on tests that run concurrently."""
    if "check_steps" not in run.usage:
        return run
    checked = replace(run.usage["check_steps"], foreign_cpus=foreign_cpus)
    return replace(run, usage={**run.usage, "check_steps": checked})


def test_an_untimed_run_is_invalid_and_the_machine_is_not_probed(examined):
    def probe(threads, precision):
        pytest.fail("a probe computes for a second, and is wrong alongside other runs")

    run = examined("numpy_softmax", probe, is_timed=False)
    assert run.invalid == (NotTimed(),)
    assert run.outcome is RunOutcome.FINISHED


class TestCores:
    @pytest.fixture
    def varying(self, folder, trained):
        """The run as it is examined on cores whose speed varies, with changes to the run and its specification."""

        def varying(changes, **asked):
            examiner = Examiner(probe=probing(speed(1e12)), variation=lambda: 1.9)
            return examiner.examine(spec("numpy_softmax", folder, **asked), replace(trained, **changes)).core_variation

        return varying

    def test_are_examined_after_a_long_run(self, varying):
        assert varying({"wall_seconds": 60.0}) == 1.9

    def test_are_not_after_a_short_one_which_must_not_take_much_longer(self, varying):
        assert varying({}) is varying({"wall_seconds": 59.0}) is None

    def test_are_not_where_steps_alternated_or_no_time_counts(self, varying, trained):
        alternated = replace(trained.training, alternation=Alternation(first=1, cpu_seconds=(), idle_cpus=0.0))
        assert varying({"wall_seconds": 60.0, "training": alternated}) is None
        assert varying({"wall_seconds": 60.0}, is_timed=False) is None


@pytest.mark.parametrize(
    ("builder", "problem"),
    [
        ("asynchronous", NotAwaited),
        ("trains_a_copy", StepsChangeNothing),
        ("leaves_dropout_on", EvaluationVaries),
        ("runs_out_of_batches", NotDouble),
    ],
)
def test_a_planted_fault_fails_the_run(examined, builder, problem):
    run = examined(builder, steps=20)
    assert run.outcome is RunOutcome.FAILED
    assert isinstance(run.problem, problem)
    assert len(run.step_checks) == CHECKS


@pytest.mark.parametrize(
    ("builder", "problem"),
    [
        ("frozen", StepsChangeNothing(unchanged=16, steps=16)),
        ("skips_updates", StepsChangeNothing(unchanged=8, steps=16)),
        ("invents_losses", StepsChangeNothing(unchanged=16, steps=16)),
        ("constant_loss", LossesRepeat(repeated=7, steps=8, loss=0.7)),
        ("loss_below_zero", LossBelowBound(loss=ANY, step=ANY, bound=0.0)),
        ("repeats_losses", LossesRepeat(repeated=4, steps=8)),
    ],
)
@pytest.mark.parametrize("changes", [{}, {"is_timed": False}], ids=["timed", "untimed"])
def test_a_run_whose_steps_do_not_all_train_fails(examined, builder, problem, changes):
    run = examined(builder, **changes)
    assert (run.outcome, run.problem) == (RunOutcome.FAILED, problem)


def test_updates_are_checked_in_the_first_run_only_and_leave_its_figures_as_they_are(folder):
    asked = spec("clocked", folder)
    first, second = (train_once(asked, index) for index in (0, 1))
    bare = train_once(replace(asked, seed=0), 1)
    assert first.update_check.numbers == tuple(range(8)) * 2
    assert all(first.update_check.changed)
    assert second.update_check is None
    assert (bare.training.losses, bare.evaluation.loss) == (first.training.losses, first.evaluation.loss)


def test_steps_whose_learning_rate_is_0_need_not_train(folder):
    decayed = replace(spec("clocked", folder).recipe, schedule=Cosine())
    assert updating_steps((0.0, 0.1, 0.2, 0.0), 3) == [1, 2, 1]
    assert updating_steps((0.0, 0.0), 3) == []
    assert updating_steps(spec("clocked", folder, recipe=decayed).learning_rates(), 4) == [0, 1, 2, 3]


@pytest.mark.parametrize("builder", ["asynchronous", "runs_out_of_batches"])
def test_a_timing_fault_on_a_busy_machine_makes_the_run_invalid(examined, builder):
    run = examined(builder, steps=20, foreign_cpus=1.0)
    assert run.outcome is RunOutcome.FINISHED
    assert run.invalid[-1] == StepsUnclear(checks=3, foreign_cpus=1.0)


def test_a_sound_builder_is_checked_once_and_only_in_the_first_run(examined, folder):
    run = examined("clocked", steps=20)
    assert run.outcome is RunOutcome.FINISHED
    assert len(run.step_checks) == 1
    asked, hooks = spec("clocked", folder), RunHooks(is_suspicious=lambda check: check.steps < 0)
    assert train_once(asked, 1, hooks).step_checks == ()
    assert len(train_once(asked, 0, hooks).step_checks) == 1


def test_without_a_hook_steps_are_not_checked(folder):
    assert train_once(spec("clocked", folder), 0).step_checks == ()


def test_steps_that_take_too_long_to_repeat_are_not_checked_and_that_is_reported(examined):
    run = examined("takes_long", steps=2)
    assert run.step_checks == ()
    assert run.absent["step check"].startswith("it would take about ")


class TestUtilisation:
    def test_is_the_networks_arithmetic_divided_by_the_peak(self, examined):
        run = examined("clocked", steps=40, probe=probing(speed(1e9)))
        # One 20 × 3 layer, forward and backward for the weights only: inputs need no gradient. 16 examples in 2 ms.
        assert run.flop_utilisation == pytest.approx(2 * 2 * 60 * 16 / 0.002 / 1e9)
        assert run.outcome is RunOutcome.FINISHED

    def test_the_work_of_a_step_is_recorded_even_if_the_probe_fails(self, examined):
        run = examined("clocked", steps=40, probe=probing(None))
        # 63 parameters are read and written; for each of 16 examples 3 outputs move four times and 20 inputs are read.
        assert (run.work.flops, run.work.least_bytes) == (2 * 2 * 60 * 16, 4 * (2 * 63 + 16 * (4 * 3 + 20)))

    def test_above_the_peak_fails_the_run(self, examined):
        run = examined("clocked", probe=probing(speed(1e3)))
        assert run.outcome is RunOutcome.FAILED
        assert run.problem == TooFast(share=run.flop_utilisation, limit=1.05)

    def test_uses_the_best_of_three_probes_if_the_first_was_disturbed(self, examined):
        run = examined("clocked", probe=probing(speed(1e3), speed(1e2), speed(1e12)))
        assert run.outcome is RunOutcome.FINISHED
        assert run.speed.flops_per_second == 1e12

    def test_is_absent_where_the_probe_fails(self, examined):
        run = examined("clocked", probe=probing(None))
        assert (run.outcome, run.flop_utilisation) == (RunOutcome.FINISHED, None)
        assert "machine speed" in run.absent

    def test_probes_once_per_session(self, folder):
        probed = []

        def probe(threads, precision):
            probed.append((threads, precision))
            return speed(1e12)

        examiner, asked = Examiner(probe=probe), spec("clocked", folder)
        for index in (0, 1):
            examiner.examine(asked, train_once(asked, index))
        assert probed == [(1, "float32")]

    @pytest.mark.parametrize(
        ("hosts", "placement", "threads", "share"),
        [(1, "together", 6, 1.0), (1, "one_process", 6, 1.0), (2, "spread", 3, 0.5)],
    )
    def test_of_several_workers_is_that_of_one_host(self, folder, hosts, placement, threads, share):
        probed = []

        def probe(threads, precision):
            probed.append(threads)
            return speed(1e9)

        alone = spec("clocked", folder, steps=40)
        case = replace(alone.case, workers=2, threads=3, settings={"placement": placement})
        run = Examiner(probe=probe).examine(replace(alone, case=case, hosts=hosts), train_once(alone, 0))
        assert probed == [threads]
        assert run.flop_utilisation == pytest.approx(share * 2 * 2 * 60 * 16 / 0.002 / 1e9)
        # The work is that of all hosts.
        assert run.work.flops == 2 * 2 * 60 * 16


@pytest.mark.parametrize("changes", [{}, {"is_timed": False}], ids=["timed", "untimed"])
def test_a_hooks_metric_that_raises_has_no_value_and_costs_no_run(folder, changes):
    def wrong(run):
        return run.usage["infer"].readings["plug_joules"]

    asked = spec("clocked", folder, **changes)
    added = [Metric(name="wrong", unit="J", better="lower", value=wrong)]
    added.append(Metric(name="right", unit="J", better="lower", value=lambda _: 7.0))
    run = Examiner(probe=probing(speed(1e12)), metrics=extended(METRICS, added)).examine(asked, train_once(asked, 0))
    assert run.outcome is RunOutcome.FINISHED
    assert run.hooked == {"right": 7.0}
    assert run.absent["wrong"] == "KeyError: 'infer'"


def test_a_run_that_did_not_finish_is_unchanged(examined):
    run = examined("raises")
    assert run.outcome is RunOutcome.FAILED
    assert (run.speed, run.warm_up) == (None, None)


class TestSpeed:
    def test_of_this_machine_is_measured_in_a_separate_process(self):
        found = machine_speed(1, "float32")
        assert (found.threads, found.precision) == (1, "float32")
        assert found.flops_per_second > 1e8
        assert found.copied_bytes_per_second > 1e7
        assert 0 < found.launch_seconds < 1e-2

    def test_is_none_for_a_precision_that_numpy_lacks(self):
        assert machine_speed(1, "int7") is None


class TestGpu:
    """A GPU's peak is that of a large product in the framework of the run, and that of its data sheet is a limit."""

    @pytest.fixture
    def on_gpu(self, folder):
        """A run of the NumPy double that is examined as one on a GPU, with what a product reached on it."""
        asked = spec("numpy_softmax", folder, steps=20)
        run = train_once(asked, 0)
        asked = replace(asked, case=replace(asked.case, device="gpu"), gpu="GPU-5f3c")
        run = replace(run, device=ComputeDevice(kind="gpu", name="NVIDIA A100-SXM4-40GB"))

        def on_gpu(*found, gpu="", **changes):
            rest = list(found)
            probed = []

            def gpu_probe(spec, model):
                probed.append((spec.gpu, model))
                return rest.pop(0) if len(rest) > 1 else rest[0]

            examiner = Examiner(gpu_probe=gpu_probe, gpu=gpu)
            return examiner.examine(replace(asked, **changes), run), probed

        return on_gpu

    def test_the_share_is_that_of_the_product_on_the_leased_gpu(self, on_gpu):
        found, probed = on_gpu(speed(1e12))
        assert found.outcome is RunOutcome.FINISHED
        assert found.speed.flops_per_second == 1e12
        assert 0 < found.flop_utilisation < 1
        assert probed == [("GPU-5f3c", "NVIDIA A100-SXM4-40GB")]

    def test_the_model_is_the_one_that_its_driver_reports_if_that_is_known(self, on_gpu):
        _, probed = on_gpu(speed(1e12), gpu="Tesla T4 15 GiB")
        assert probed == [("GPU-5f3c", "Tesla T4 15 GiB")]

    def test_steps_that_are_faster_than_the_product_in_all_probes_are_impossible(self, on_gpu):
        found, probed = on_gpu(speed(1.0))
        assert found.outcome is RunOutcome.FAILED
        assert isinstance(found.problem, TooFast)
        assert len(probed) == 3

    def test_a_product_that_is_faster_than_the_data_sheet_is_impossible(self, on_gpu):
        found, _ = on_gpu(replace(speed(156e12), published_flops_per_second=19.5e12))
        assert found.outcome is RunOutcome.FAILED
        assert found.problem == AboveDataSheet(precision="float32", measured=156e12, published=19.5e12)

    def test_an_overclocked_gpu_is_not_impossible(self, on_gpu):
        found, _ = on_gpu(replace(speed(21e12), published_flops_per_second=19.5e12))
        assert found.outcome is RunOutcome.FINISHED

    def test_a_probe_that_fails_is_absent_with_that_reason(self, on_gpu):
        found, _ = on_gpu(None)
        assert (found.speed, found.absent["machine speed"]) == (None, "the probe failed")
