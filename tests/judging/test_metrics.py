from dataclasses import replace
from math import inf, isfinite, log, nan

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_dlbench.errors import OptionError
from pytest_dlbench.judging import METRICS, Metric, extended, read_all, readings, steady_steps, summarise
from pytest_dlbench.judging.metrics import hooked
from pytest_dlbench.judging.warm_up import warm_up
from pytest_dlbench.records import POWER_LIMIT, GpuUsage, Run, RunOutcome, Timeline, codec
from tests.doubles import records

# Token by token, of more than ten classes: all metrics apply.
TOKENS = replace(records.evaluation(), top5_correct=records.TEST_EXAMPLES, answers="tokens")


OF_INFERENCE = ("latency", "latency_median", "latency_p90")
# tests/judging/test_time_to_accuracy.py has all but the last.
OF_SOME_RECIPES = {
    *("time_to_accuracy", "epochs_to_accuracy", "reached_accuracy", "time_to_best", "epochs_to_best", "input_wait")
}
# Of machines with a price: tests/judging/test_time_to_accuracy.py
OF_PRICES = {"cost", "cost_to_accuracy"}
# Of given weights, and of several frameworks: tests/running/test_weights.py
OF_APPLIED = {"applied_accuracy", "applied_top5_accuracy", "output_deviation"}
# Of JPEG files: tests/running/test_input.py
OF_LOADERS = {"read_time", "decode_time", "collate_time"}
# Of runs whose steps alternate: tests/judging/test_alternation.py
OF_PAIRS = {"step_cpu_time"}
OF_SOME_MACHINES = {
    *("energy", "gpu_energy", "gpu_memory", "gpu_utilisation", "gpu_allocated", "gpu_power", "gpu_clock"),
    "gpu_step_time",
    *("gpu_temperature", "gpu_throttled", "samples_per_joule", "peak_gpu_utilisation"),
}
# Of runs that were sampled as they are now: below.
OF_SAMPLES = {"peak_cpu_use", "user_share", "system_share", "iowait_share"}
# Of several workers: tests/judging/test_workers.py
OF_WORKERS = {"exchange_share", "exchanged"}
# Of what is counted after the measurement, where a framework or the kernel counts it.
COUNTED = {"operations", "allocated_bytes", "compilations", "recompilations", "graph_breaks", "instructions"}
# Of steps that were divided: tests/judging/test_breakdowns.py
OF_BREAKDOWNS = {name for name in METRICS if name.startswith("phase_")}
# Of text.
OF_TOKENS = {"token_throughput"}
# Of images with boxes.
OF_DETECTORS = {"map50"}
# Of flags, and of classes that are counted apart.
OF_SOME_ANSWERS = {"auroc", "lowest_class_accuracy"}
# Of saved trainings: tests/running/test_checkpoints.py
OF_CHECKPOINTS = {"checkpoint_write_time", "checkpoint_read_time", "checkpoint_bytes"}
# Of a validation split: tests/running/test_validation.py
OF_VALIDATION = {"trained_epochs", "best_epoch", "held_out_accuracy"}
OF_OPERATORS = {name for name, metric in METRICS.items() if metric.purpose == "operator"}
OF_SEARCHES = {name for name, metric in METRICS.items() if metric.purpose == "search"}
# Of a run that was sampled often enough: tests/judging/test_leaks.py
OF_LONG_RUNS = {"leak"}
CARD = GpuUsage(name="Acme", uuid="GPU-1", energy_joules=50.0, memory_peak_bytes=100, utilisation=0.9)


def value(metric, run):
    return METRICS[metric].value(run)


@pytest.mark.parametrize(
    ("steps", "left_out"), [(2, 1), (3, 1), (4, 1), (7, 1), (8, 2), (39, 9), (40, 10), (41, 10), (1000, 10)]
)
def test_the_warm_up_is_ten_steps_or_the_first_quarter(steps, left_out):
    seconds = tuple(float(number) for number in range(steps))
    assert steady_steps(records.training(seconds)) == seconds[left_out:]


def test_a_single_step_is_steady():
    assert steady_steps(records.training((3.0,))) == (3.0,)


@given(st.lists(st.floats(min_value=1e-6, max_value=10), min_size=1, max_size=100))
def test_steady_steps_are_the_end_of_the_series_and_never_none(seconds):
    steady = steady_steps(records.training(seconds))
    assert steady
    assert tuple(seconds[-len(steady) :]) == steady


# 14 steps: 3 are warm-up, and the others take 1 to 11 seconds.
FOURTEEN = (90.0, 80.0, 70.0, *range(11, 0, -1))


def test_step_time_is_the_tenth_of_the_steady_steps():
    assert value("step_time", records.run(training=records.training(FOURTEEN))) == 2.0


@given(st.lists(st.floats(min_value=1e-6, max_value=10), min_size=1, max_size=100))
def test_step_time_is_the_quantile_between_neighbours(seconds):
    trained = records.training(seconds)
    expected = np.quantile(steady_steps(trained), 0.1)
    assert value("step_time", records.run(training=trained)) == pytest.approx(expected)


def test_step_time_median_is_the_middle_of_the_steady_steps():
    assert value("step_time_median", records.run(training=records.training(FOURTEEN))) == 6.0


def test_throughput_counts_all_steps_but_the_first():
    trained = records.training((50.0, 1.0, 2.0, 1.0), batch_size=32)
    assert value("throughput", records.run(training=trained)) == 3 * 32 / 4


def test_throughput_of_a_single_step_counts_it():
    assert value("throughput", records.run(training=records.training((4.0,), batch_size=32))) == 8.0


def test_first_step_is_the_first():
    assert value("first_step", records.run(training=records.training(FOURTEEN))) == 90.0


def test_accuracy_is_a_share_of_the_examples():
    assert value("accuracy", records.run(accuracy=0.9137)) == 0.9137


def test_peak_rss_is_the_highest_of_all_phases():
    usage = {name: records.usage(rss_peak_bytes=peak) for name, peak in (("build", 10), ("train", 30), ("close", 20))}
    assert value("peak_rss", records.run(usage=usage)) == 30


@pytest.mark.parametrize("check", ["check_steps", "check_updates", "check_calls"])
def test_peak_rss_is_without_the_checks_of_a_first_run_and_without_the_end_that_follows_them(check):
    usage = {name: records.usage(rss_peak_bytes=peak) for name, peak in (("train", 30), (check, 90), ("close", 80))}
    assert value("peak_rss", records.run(usage=usage)) == 30


def test_peak_rss_is_without_the_end_that_follows_the_counting():
    usage = {name: records.usage(rss_peak_bytes=peak) for name, peak in (("train", 30), ("close", 90))}
    assert value("peak_rss", records.run(usage=usage, counts={})) == 30
    assert value("peak_rss", records.run(usage=usage)) == 90


@pytest.mark.parametrize("name", sorted(COUNTED))
def test_a_count_is_read_off_runs_that_have_it(name):
    assert value(name, records.run(counts={name: 0})) == 0
    assert value(name, records.run(counts={})) is None
    assert value(name, records.run()) is None


def test_the_shares_of_processors_are_known_to_a_tick_of_each():
    run = in_training()
    resolved = {name: metric.resolution(run) for name, metric in METRICS.items() if metric.resolution}
    assert resolved == dict.fromkeys(("user_share", "system_share", "iowait_share"), 0.005)


def test_timed_steps_are_those_after_the_warm_up_or_the_first_batch():
    # Ten of fifty are warm-up, and the first one of five.
    found = [readings.timed_steps(records.run(training=records.training((0.01,) * steps))) for steps in (50, 5)]
    assert found == [40, 4]
    assert readings.timed_steps(records.inferred((0.5, 0.1, 0.1))) == 2


def test_times_of_single_steps_or_batches_are_metrics_of_steps():
    of_steps = {name for name, metric in METRICS.items() if metric.is_of_steps}
    assert {name for name, metric in METRICS.items() if metric.timed in ("step", "batch")} < of_steps
    assert "throughput" in of_steps
    assert not of_steps & {"accuracy", "peak_rss", "training_time", "first_step"}


def test_counts_that_vary_from_run_to_run_are_no_witnesses():
    assert COUNTED - {"instructions"} == {name for name, metric in METRICS.items() if metric.is_counted}


def test_cpu_use_is_cpu_seconds_a_second_of_training():
    usage = {
        "build": records.usage(wall_seconds=1.0, user_seconds=50.0),
        "train": records.usage(wall_seconds=2.0, user_seconds=3.0, system_seconds=0.5),
    }
    assert value("cpu_use", records.run(usage=usage)) == 1.75


def in_training(timeline=None, **fields):
    """A run whose training has this usage."""
    usage = records.usage(wall_seconds=2.0, **fields)
    return replace(records.run(usage={"train": usage}), **({"timeline": timeline} if timeline else {}))


def test_shares_of_processors_are_of_all_that_the_machine_has():
    used = {"user_seconds": 3.0, "system_seconds": 0.5, "iowait_cpus": 0.2, "core_use": (0.9, 0.5, 0.2, 0.2)}
    run = in_training(**used)
    assert [value(name, run) for name in ("user_share", "system_share", "iowait_share")] == [
        pytest.approx(share) for share in (3 / 2 / 4, 0.5 / 2 / 4, 0.2 / 4)
    ]
    older = in_training(**{**used, "core_use": (), "iowait_cpus": None})
    assert [value(name, older) for name in ("user_share", "system_share", "iowait_share")] == [None] * 3


def test_peak_cpu_use_is_the_steepest_part_of_training_and_not_of_what_is_before_or_after():
    line = Timeline(
        seconds=(0.0, 1.0, 1.05, 2.0, 2.5, 9.0), rss_bytes=(1,) * 6, cpu_seconds=(0.0, 10.0, 10.5, 11.0, 12.0, 99.0)
    )
    assert value("peak_cpu_use", in_training(line, began_seconds=1.0)) == pytest.approx(2.0)


@pytest.mark.parametrize("began", [None, 5.0], ids=["older file", "no samples"])
def test_there_is_no_peak_cpu_use_without_two_samples(began):
    line = Timeline(seconds=(0.0, 1.0), rss_bytes=(1, 1), cpu_seconds=(0.0, 1.0))
    assert value("peak_cpu_use", in_training(line, began_seconds=began)) is None


def test_mean_memory_is_that_of_training():
    assert value("mean_rss", in_training(rss_mean_bytes=7)) == 7


def test_evaluation_time_is_that_of_the_test_split_and_absent_without_one():
    assert value("evaluation_time", records.run()) == records.evaluation().seconds
    assert value("evaluation_time", replace(records.run(), evaluation=None)) is None


@given(st.floats(min_value=1e-3, max_value=1e3))
def test_times_scale_with_the_steps(factor):
    slow = records.run(training=records.training([factor * seconds for seconds in FOURTEEN]))
    plain = records.run(training=records.training(FOURTEEN))
    for name in ("step_time", "step_time_median", "first_step"):
        assert value(name, slow) == pytest.approx(factor * value(name, plain))


@pytest.mark.parametrize("name", METRICS)
def test_every_metric_has_a_unit(name):
    assert METRICS[name].unit


@pytest.mark.parametrize("name", METRICS)
def test_every_metric_is_listed_under_its_name(name):
    assert METRICS[name].name == name


@pytest.mark.parametrize(
    "name",
    sorted(
        METRICS.keys()
        - set(OF_INFERENCE)
        - OF_SOME_RECIPES
        - OF_APPLIED
        - OF_LOADERS
        - OF_PAIRS
        - OF_LONG_RUNS
        - OF_SOME_MACHINES
        - OF_SAMPLES
        - OF_TOKENS
        - OF_WORKERS
        - OF_BREAKDOWNS
        - OF_DETECTORS
        - OF_SOME_ANSWERS
        - OF_VALIDATION
        - OF_CHECKPOINTS
        - OF_OPERATORS
        - OF_SEARCHES
        - OF_PRICES
        - COUNTED
    ),
)
def test_every_metric_of_training_is_read_off_a_finished_run(name):
    assert value(name, records.run(evaluation=TOKENS)) > 0


@pytest.mark.parametrize("name", sorted(OF_SEARCHES))
def test_every_metric_of_searches_is_read_off_a_run_of_one_and_off_no_other(name):
    assert value(name, records.searched()) > 0
    assert METRICS[name].read(records.run()) is None


def test_trainings_figures_are_not_those_of_a_search():
    assert {"accuracy", "step_time", "throughput"}.isdisjoint(read_all([records.searched()]))


# Of all-reduces alone: tests/running/test_operators.py
@pytest.mark.parametrize("name", sorted(OF_OPERATORS - {"bus_bandwidth"}))
def test_every_metric_of_operators_is_read_off_a_finished_run_of_one_and_off_no_other(name):
    assert value(name, records.operated()) > 0
    assert METRICS[name].read(records.run()) is None


def test_an_operator_s_pass_is_timed_by_the_calls_after_the_first():
    # 2 GFLOP and 0.1 GB in 0.1 s; the probe takes 0.04 s for 1 GFLOP.
    run = records.operated(seconds=(0.5, 0.1, 0.1))
    found = [value(f"backward_data_{figure}", run) for figure in ("time", "arithmetic", "traffic", "share")]
    assert found == pytest.approx([0.1, 20.0, 1.0, 0.8])


def test_only_a_detector_has_a_mean_average_precision():
    boxes = replace(TOKENS, answers="boxes", map50=0.75)
    assert value("map50", records.run(evaluation=boxes)) == 0.75
    assert value("map50", records.run(evaluation=TOKENS)) is None


def test_flags_have_an_area_under_the_roc_curve():
    assert value("auroc", records.run(evaluation=replace(records.evaluation(), answers="flags", auroc=0.75))) == 0.75
    assert value("auroc", records.run(evaluation=TOKENS)) is None


def test_the_worst_class_is_one_that_has_examples():
    classes = replace(records.evaluation(), class_accuracies=(0.9, None, 0.4))
    assert value("lowest_class_accuracy", records.run(evaluation=classes)) == 0.4
    assert value("lowest_class_accuracy", records.run(evaluation=records.evaluation())) is None


def test_tokens_are_as_many_a_sample_as_went_in():
    text = replace(records.training(FOURTEEN), tokens=30 * records.training(FOURTEEN).examples)
    run = records.run(training=text)
    assert value("token_throughput", run) == pytest.approx(30 * value("throughput", run))


def test_gpu_memory_is_what_the_framework_reports():
    assert value("gpu_allocated", records.run(training=replace(records.training(), device_peak_bytes=7))) == 7


def test_the_time_of_a_step_on_a_gpu_is_by_its_own_clock_after_the_warm_up():
    training = records.training((9.0, *[0.1] * 20))
    before = warm_up(training.step_seconds).steps
    training = replace(training, device_seconds=(8.0,) * before + (0.09,) * (21 - before))
    assert value("gpu_step_time", records.run(training=training)) == 0.09


def test_the_latency_of_a_batch_excludes_the_first():
    run = records.inferred((9.0, *(0.1 * tenth for tenth in range(1, 12))), batch_size=4)
    assert [value(name, run) for name in OF_INFERENCE] == pytest.approx([0.2, 0.6, 1.0])
    assert value("throughput", run) == pytest.approx(4 * 11 / 6.6)


def test_a_run_that_only_infers_has_no_metric_of_training():
    figures = read_all([records.inferred()])
    assert {"throughput", "latency", "peak_rss", "cpu_use"} <= figures.keys()
    assert not {"step_time", "first_step", "accuracy", "perplexity"} & figures.keys()


def test_a_summary_of_inference_has_its_figures():
    assert summarise([records.inferred()])["latency"] > 0


@pytest.mark.parametrize("name", sorted(OF_SOME_MACHINES))
def test_what_only_some_machines_tell_is_read_off_their_runs_and_absent_elsewhere(name):
    full = replace(
        CARD,
        utilisation_peak=1.0,
        power_mean_watts=300.0,
        sm_clock_mean_mhz=1400.0,
        temperature_peak_celsius=80.0,
        slowed_by=("hot (driver)",),
        slowed_shares={"hot (driver)": 0.25},
    )
    usage = {"train": records.usage(gpus=(full,), readings={"package_joules": 80.0})}
    training = records.training()
    training = replace(training, device_peak_bytes=100, device_seconds=training.step_seconds)
    assert value(name, records.run(usage=usage, training=training)) > 0
    assert value(name, records.run()) is None


def test_energy_is_of_the_processors_and_their_memory():
    usage = {"train": records.usage(readings={"package_joules": 80.0, "dram_joules": 4.0, "plug_joules": 200.0})}
    assert value("energy", records.run(usage=usage)) == 84.0


def test_power_clock_heat_and_throttling_of_gpus_are_read():
    hot = replace(
        CARD,
        power_mean_watts=300.0,
        sm_clock_mean_mhz=1400.0,
        temperature_peak_celsius=80.0,
        slowed_by=("hot (driver)", POWER_LIMIT),
        slowed_shares={"hot (driver)": 0.25, POWER_LIMIT: 1.0},
    )
    cool = replace(hot, power_mean_watts=100.0, temperature_peak_celsius=50.0, slowed_by=(), slowed_shares={})
    run = records.run(usage={"train": records.usage(gpus=(hot, cool))})
    names = ("gpu_power", "gpu_clock", "gpu_temperature", "gpu_throttled")
    assert [value(name, run) for name in names] == [400.0, 1400.0, 80.0, 0.25]


def test_a_gpu_that_does_not_report_why_it_slows_has_no_share_of_throttling():
    gpu = replace(CARD, absent={"reasons for slowing": "Not Supported"})
    assert value("gpu_throttled", records.run(usage={"train": records.usage(gpus=(gpu,))})) is None
    assert value("gpu_throttled", records.run()) is None


def test_an_older_file_without_shares_has_no_share_of_throttling():
    gpu = replace(CARD, slowed_by=("hot (driver)",))
    assert value("gpu_throttled", records.run(usage={"train": records.usage(gpus=(gpu,))})) is None


def test_samples_per_joule_count_every_sample_of_training():
    run = records.run(usage={"train": records.usage(gpus=(CARD,))})
    assert value("samples_per_joule", run) == run.training.examples / 50.0


def test_gpus_add_their_energy_and_the_fullest_counts():
    other = replace(CARD, energy_joules=1.0, memory_peak_bytes=9)
    run = records.run(usage={"train": records.usage(gpus=(CARD, other))})
    assert (value("gpu_energy", run), value("gpu_memory", run)) == (CARD.energy_joules + 1.0, CARD.memory_peak_bytes)


def test_page_faults_are_those_of_a_step():
    assert value("page_faults", records.run()) == 5000 / records.STEPS


def test_a_metric_that_one_run_lacks_is_excluded_for_all():
    assert "load_time" in read_all(records.runs())
    lacking = records.run(training=replace(records.training(), load_seconds=None))
    assert "load_time" not in read_all([*records.runs(), lacking])


class TestExtended:
    OWN = Metric(name="own", unit="J", better="lower", kind="ratio", value=lambda run: float(run.seed))

    def test_metrics_of_hooks_come_last_and_leave_the_built_in_ones_as_they_are(self):
        assert list(extended(METRICS, [self.OWN])) == [*METRICS, "own"]
        assert "own" not in METRICS

    def test_neither_can_be_changed(self):
        for metrics in (METRICS, extended(METRICS, [self.OWN])):
            with pytest.raises(TypeError):
                metrics["other"] = self.OWN

    def test_only_what_hooks_measure_is_kept_with_a_run(self):
        assert hooked(records.run(7), extended(METRICS, [self.OWN])) == {"own": 7.0}

    @pytest.mark.parametrize("value", [nan, inf, -inf])
    def test_a_figure_of_a_hook_that_is_no_number_is_none(self, value):
        metrics = extended(METRICS, [replace(self.OWN, value=lambda _: value)])
        kept = replace(records.run(), hooked=hooked(records.run(), metrics))
        assert (metrics["own"].read(kept), kept.hooked) == (None, {})
        assert codec.decode(codec.encode_line(kept), Run, "journal") == kept

    def test_what_was_kept_with_the_runs_is_read_without_the_hook(self):
        assert read_all([replace(records.run(), hooked={"own": value}) for value in (1.0, 2.0)])["own"] == (1.0, 2.0)

    def test_an_absolute_metric_is_no_ratio(self):
        own = replace(self.OWN, is_absolute=True, kind="points")
        assert extended(METRICS, [own])["own"].is_absolute
        with pytest.raises(OptionError, match="of the absolute metric 'own', 0 is right"):
            extended(METRICS, [replace(own, kind="ratio")])

    def test_a_known_name_is_refused(self):
        with pytest.raises(OptionError, match="there is a metric 'accuracy' already"):
            extended(METRICS, [replace(self.OWN, name="accuracy")])


def test_five_metrics_of_networks_are_judged_and_the_times_of_operators():
    judged = {name: metric.tolerance for name, metric in METRICS.items() if metric.tolerance is not None}
    of_operators = {name: judged.pop(name) for name in OF_OPERATORS & judged.keys()}
    assert of_operators == {name: 0.05 for name in OF_OPERATORS if name.endswith("_time")}
    assert judged == {"step_time": 0.05, "latency": 0.05, "accuracy": 1.0, "peak_rss": 0.02, "leak": 2.0}


@pytest.mark.parametrize(("name", "better"), [("step_time", "lower"), ("throughput", "higher"), ("accuracy", "higher")])
def test_the_better_direction_is_known(name, better):
    assert METRICS[name].better == better


def test_reading_all_gives_each_metric_one_value_a_run():
    values = read_all([records.run(seed) for seed in (1, 2, 3, 4)])
    everywhere = METRICS.keys() - {
        "top5_accuracy",
        "perplexity",
        *OF_INFERENCE,
        *OF_SOME_RECIPES,
        *OF_APPLIED,
        *OF_LOADERS,
        *OF_PAIRS,
        *OF_LONG_RUNS,
        *OF_SOME_MACHINES,
        *OF_SAMPLES,
        *OF_TOKENS,
        *OF_WORKERS,
        *OF_BREAKDOWNS,
        *OF_DETECTORS,
        *OF_SOME_ANSWERS,
        *OF_VALIDATION,
        *OF_CHECKPOINTS,
        *OF_OPERATORS,
        *OF_SEARCHES,
        *OF_PRICES,
        *COUNTED,
    }
    assert {name: len(of_metric) for name, of_metric in values.items()} == dict.fromkeys(everywhere, 4)


def test_of_many_classes_the_five_likeliest_are_read():
    run = records.run(evaluation=TOKENS)
    assert read_all([run])["top5_accuracy"] == (1.0,)


def test_of_tokens_the_perplexity_is_read():
    run = records.run(evaluation=replace(TOKENS, loss=log(50.0)))
    assert read_all([run])["perplexity"] == (pytest.approx(50.0),)


def test_a_perplexity_is_a_number_however_large_the_loss_is():
    run = records.run(evaluation=replace(TOKENS, loss=1e4))
    assert isfinite(read_all([run])["perplexity"][0])


def test_reading_a_run_that_was_not_trained_names_it():
    with pytest.raises(ValueError, match=r"run 0 of training-pytorch.* was not trained"):
        read_all([records.unfinished(RunOutcome.CRASHED)])


def test_reading_a_run_that_was_not_evaluated_names_it():
    with pytest.raises(ValueError, match=r"run 0 of training-pytorch.* was not evaluated"):
        read_all([records.run(evaluation=None)])


def test_a_summary_is_the_median_over_the_runs():
    assert summarise(records.runs(steps=(0.010, 0.012, 0.900)))["step_time"] == pytest.approx(0.012)


def test_a_summary_leaves_out_what_did_not_finish():
    found = summarise([*records.runs(), records.unfinished(RunOutcome.TIMEOUT)])
    assert found == summarise(records.runs())


def test_a_summary_of_nothing_finished_is_empty():
    assert summarise([records.unfinished(RunOutcome.TIMEOUT)]) == {}
