"""Charts that compare cases: which ones they compare, and which not."""

from dataclasses import replace

import pytest

from pytest_dlbench.judging import METRICS
from pytest_dlbench.records import VerdictOutcome
from pytest_dlbench.reporting.charts import (
    Nothing,
    accuracy,
    accuracy_time,
    changes,
    devices,
    frameworks,
    losses,
    memory,
    phases,
    step_times,
    sweeps,
    threads,
    utilisation,
    workers,
)
from pytest_dlbench.reporting.charts.chart import joined
from tests.doubles import records
from tests.doubles.judged import both_sides, inferred, judged, measured


def rows(chart, *cases):
    found = measured(*cases)
    return joined(chart(found), found)


def test_the_fastest_framework_is_1_and_the_others_are_ratios_to_it():
    quick, slow = rows(frameworks.chart, judged("jax", step=0.02), judged("pytorch", step=0.01))
    assert (quick["framework"], quick["ratio"], quick["lower"], quick["upper"]) == ("pytorch", 1.0, 1.0, 1.0)
    assert slow["ratio"] == pytest.approx(2.0)
    assert 1 < slow["lower"] < 2 < slow["upper"]


@pytest.mark.parametrize(
    "other",
    [
        {"session": "20261121T235959-1"},
        {"context": {"network_digest": "another"}},
        {"context": {"dataset_digest": "another"}},
        {"context": {"precision": "bfloat16"}},
        {"threads": 4},
        {"settings": {"batch_size": 8}},
    ],
    ids=lambda other: next(iter(other)),
)
def test_frameworks_are_compared_only_under_equal_conditions(other):
    assert isinstance(frameworks.chart(measured(judged("jax"), judged("pytorch", **other))), Nothing)


def test_invalid_runs_are_not_compared():
    spoiled = judged("jax")
    runs = tuple(replace(run, invalid=("others used 1.8 CPUs",)) for run in spoiled.runs)
    assert isinstance(frameworks.chart(measured(judged("pytorch"), replace(spoiled, runs=runs))), Nothing)
    (_, slow) = rows(frameworks.chart, judged("pytorch"), replace(spoiled, runs=(*runs[:2], spoiled.runs[2])))
    assert slow["runs"] == 1


def test_regressions_come_first():
    equivalent = {"verdicts": (records.verdict(outcome=VerdictOutcome.EQUIVALENT),)}
    regressed = {"verdicts": (records.verdict(),)}
    found = rows(changes.chart, judged("jax", result=equivalent), judged("pytorch", result=regressed))
    assert [row["verdict"] for row in found] == ["regressed", "equivalent"]


def test_ratios_are_shown_in_percent_and_accuracy_in_points():
    points = records.verdict(metric="accuracy", change=-2.0, lower=-3.0, upper=-1.0, tolerance=1.0)
    of_time, of_accuracy = rows(changes.chart, judged(result={"verdicts": (records.verdict(), points)}))
    assert of_time["change"] == pytest.approx(20.0)
    assert (of_time["worse"], of_time["better"]) == pytest.approx((5.0, -4.7619), abs=1e-3)
    assert (of_accuracy["change"], of_accuracy["worse"], of_accuracy["better"]) == (-2.0, 1.0, -1.0)


def test_speed_up_is_relative_to_the_fewest_threads_of_the_same_framework():
    found = rows(threads.chart, judged(threads=2, step=0.004, runs=1), judged(threads=1, step=0.006, runs=1))
    assert [(row["threads"], row["speedup"], row["ideal"]) for row in found] == [
        (1, 1.0, 1.0),
        (2, pytest.approx(1.5), 2.0),
    ]


def test_speed_up_of_workers_is_by_samples_so_that_weak_scaling_counts_the_larger_batch():
    one = judged(step=0.004, runs=1, context={"batch_size": 100})
    two = judged(step=0.005, runs=1, workers=2, context={"batch_size": 200})
    assert [
        (row["workers"], row["speedup"], row["ideal"], row["efficiency"]) for row in rows(workers.chart, two, one)
    ] == [
        (1, 1.0, 1.0, 100.0),
        (2, pytest.approx(1.6), 2.0, pytest.approx(80.0)),
    ]


def test_threads_of_two_sessions_are_not_compared():
    cases = (judged(threads=1), judged(threads=2, session="20261121T235959-1"))
    assert isinstance(threads.chart(measured(*cases)), Nothing)


def shown(what, *cases):
    return [row for row in rows(devices.chart, *cases) if row["shown"].endswith(f": {what}")]


def test_each_device_is_compared_with_the_cpu_with_its_interval():
    first, second, third = shown(
        "speed-up",
        judged(device="gpu:10", step=0.001),
        judged(device="gpu:2", step=0.002),
        judged(device="cpu", step=0.02),
    )
    assert (first["device"], first["value"], first["lower"], first["upper"]) == ("cpu", 1.0, 1.0, 1.0)
    assert (second["device"], second["first"], second["value"]) == ("gpu:2", "cpu", pytest.approx(10))
    assert 1 < second["lower"] < 10 < second["upper"]
    assert (third["device"], third["value"]) == ("gpu:10", pytest.approx(20))


def test_without_the_cpu_devices_are_compared_with_the_first_gpu():
    found = shown("speed-up", judged(device="gpu:1", step=0.01), judged(device="gpu:0", step=0.02))
    assert [(row["device"], row["value"]) for row in found] == [("gpu:0", 1.0), ("gpu:1", pytest.approx(2))]


def test_the_throughput_of_a_device_is_that_of_its_runs():
    # 64 samples in 10, 15 and 20 ms.
    found, _ = shown("samples/s", judged(step=0.01, spread=0.5), judged(device="gpu", step=0.001))
    assert (found["lower"], found["value"], found["upper"]) == pytest.approx((3200, 64 / 0.015, 6400))


def test_single_runs_on_each_device_have_a_wider_interval():
    def width(runs):
        cases = (judged(runs=runs), judged(device="gpu", step=0.001, runs=runs))
        _, gpu = shown("speed-up", *cases)
        return gpu["upper"] / gpu["lower"]

    assert width(1) > width(3) > 1


@pytest.mark.parametrize(
    "other",
    [
        {"device": "cpu", "threads": 1},
        {"device": "gpu", "session": "20261121T235959-1"},
        {"device": "gpu", "threads": 4},
        {"device": "gpu", "settings": {"batch_size": 8}},
        {"device": "gpu", "context": {"precision": "bfloat16"}},
        {"device": "gpu", "context": {"network_digest": "another"}},
        {"device": "gpu", "framework": "jax"},
    ],
    ids="-".join,
)
def test_devices_are_compared_only_under_equal_conditions(other):
    assert isinstance(devices.chart(measured(judged("pytorch"), judged(**{"framework": "pytorch", **other}))), Nothing)


def test_the_values_of_a_sweep_are_in_order_and_relative_to_the_largest():
    cases = [judged(step=step, settings={"batch_size": size}) for size, step in ((500, 0.04), (5, 0.01), (50, 0.02))]
    speeds = [row for row in rows(sweeps.chart, *cases) if "samples/s" in row["sweep"]]
    assert [row["value"] for row in speeds] == ["5", "50", "500"]
    assert [row["share"] for row in speeds] == pytest.approx([1.0, 0.5, 0.25])


def test_a_setting_with_one_value_is_not_a_sweep():
    assert isinstance(sweeps.chart(measured(judged(settings={"batch_size": 5}))), Nothing)


def test_frameworks_are_compared_by_the_latency_of_inference():
    quick, slow = rows(frameworks.chart, inferred("jax", batch=0.2), inferred("pytorch", batch=0.1))
    assert (quick["framework"], slow["ratio"]) == ("pytorch", pytest.approx(2.0))


def test_a_metric_of_a_hook_that_is_not_installed_is_named_but_not_drawn():
    verdicts = (records.verdict(metric="plug_energy"), records.verdict())
    chart = changes.chart(measured(judged(result={"verdicts": verdicts})))
    assert len(chart.rows) == 1
    assert "plug_energy" in chart.notes[0]


def test_all_metrics_of_all_cases_are_in_one_chart():
    compared = {"verdicts": (records.verdict(), records.verdict(metric="peak_rss", old=1e9, new=1.1e9))}
    found = rows(changes.chart, judged("jax", result=compared), judged("pytorch", result=compared))
    assert [row["row"] for row in found] == [
        "jax · tartu-mnist-cnn · step 10 %",
        "jax · tartu-mnist-cnn · peak RSS",
        "pytorch · tartu-mnist-cnn · step 10 %",
        "pytorch · tartu-mnist-cnn · peak RSS",
    ]
    assert not changes.chart(measured(judged("jax", result=compared))).choose


def test_the_changes_of_a_single_case_have_their_figures_as_names():
    (row,) = rows(changes.chart, judged(result={"verdicts": (records.verdict(),)}))
    assert row["row"] == "10.0 ms → 12.0 ms"
    memory = records.verdict(metric="peak_rss", old=2**29, new=2**30)
    found = rows(changes.chart, judged(result={"verdicts": (records.verdict(), memory)}))
    assert [row["row"] for row in found] == ["step 10 %: 10.0 ms → 12.0 ms", "peak RSS: 512 MiB → 1,024 MiB"]


def test_a_single_metric_is_named_by_the_axis_and_not_by_the_rows():
    compared = {"verdicts": (records.verdict(), records.verdict(metric="peak_rss", old=1e9, new=1.1e9))}
    cases = measured(judged("jax", result=compared), judged("pytorch", result=compared))
    chart = changes.chart(cases, {"step_time": METRICS["step_time"]})
    assert [row["row"] for row in joined(chart, cases)] == ["jax · tartu-mnist-cnn", "pytorch · tartu-mnist-cnn"]


@pytest.mark.parametrize(
    ("metrics", "title"),
    [
        (("step_time",), "change of the time of a step (%)"),
        (("accuracy",), "change of the accuracy (pp)"),
        (("step_time", "peak_rss"), "change (%)"),
        (("step_time", "accuracy"), "change (%, or pp of accuracy)"),
    ],
)
def test_the_axis_names_what_is_drawn(metrics, title):
    verdicts = tuple(records.verdict(metric=metric) for metric in metrics)
    chart = changes.chart(measured(judged(result={"verdicts": verdicts})))
    titles = {layer["encoding"]["x"]["title"] for layer in chart.picture["layer"]}
    assert titles == {chart.columns["change"]} == {title}


def test_the_changes_of_pairs_do_not_speak_of_a_baseline():
    cases = measured(*both_sides(step=0.012, verdicts=(records.verdict(),)))
    assert changes.chart(cases).title == "Changes between the two sides"
    assert changes.chart(measured(judged(result={"verdicts": (records.verdict(),)}))).title == changes.TITLE


def test_a_leak_has_not_changed_from_anything():
    leak = records.verdict(metric="leak", change=5.0, lower=4.0, upper=6.0)
    assert isinstance(changes.chart(measured(judged(result={"verdicts": (leak,)}))), Nothing)


def test_the_two_sides_of_pairs_differ_by_what_their_pairs_found():
    # Unpaired, the candidate looks twice as slow.
    found = rows(frameworks.chart, *both_sides(step=0.02, verdicts=(records.verdict(),)))
    assert [(row["framework"], row["ratio"]) for row in found] == [("pytorch==2.12.0", 1.0), ("pytorch==2.13.0", 1.2)]
    assert (found[1]["lower"], found[1]["upper"]) == (1.15, 1.25)


@pytest.mark.parametrize("draw", [step_times, accuracy, phases, memory, losses, accuracy_time, utilisation])
def test_both_sides_of_pairs_are_in_every_chart(draw):
    assert {row["framework"] for row in rows(draw.chart, *both_sides())} == {"pytorch==2.12.0", "pytorch==2.13.0"}
