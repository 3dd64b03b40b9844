"""Charts of steps and runs."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_dlbench.reporting.charts import (
    Nothing,
    accuracy,
    breakdown,
    environments,
    gpus,
    latencies,
    layers,
    machines,
    memory,
    phases,
    step_series,
    step_times,
    timelines,
    utilisation,
)
from pytest_dlbench.reporting.charts.chart import joined
from pytest_dlbench.reporting.charts.thinning import EXACT, thinned
from tests.doubles import records
from tests.doubles.judged import divided, inferred, judged, measured

series = st.lists(st.floats(0.001, 10), max_size=400)


def rows(chart, *cases):
    found = measured(*cases)
    return joined(chart(found), found)


@given(series, st.integers(EXACT + 1, 100))
def test_a_thinned_series_has_at_most_the_requested_points(values, points):
    assert len(thinned(values, points)) <= points


@given(series, st.integers(EXACT + 1, 100))
def test_the_first_points_of_a_thinned_series_are_those_of_the_series(values, points):
    assert thinned(values, points)[:EXACT] == list(enumerate(values))[:EXACT]


@given(series, st.integers(EXACT + 1, 100))
def test_a_thinned_series_is_within_the_range_of_the_series(values, points):
    assert all(min(values) <= value <= max(values) for _, value in thinned(values, points))


def test_the_warm_up_of_a_series_is_what_figures_exclude():
    assert {row["warm_up"] for row in rows(step_series.chart, judged(steps=20))} == {5}
    assert {row["warm_up"] for row in rows(step_series.chart, judged(steps=60))} == {10}


def test_every_run_is_a_line_of_its_steady_quantiles():
    found = rows(step_times.chart, judged(step=0.01, spread=0.5, runs=2))
    assert [(row["run"], row["median"]) for row in found] == [(1, pytest.approx(10)), (2, pytest.approx(15))]


def test_accuracy_is_shown_run_by_run_with_the_mean():
    assert {(row["accuracy"], row["mean"]) for row in rows(accuracy.chart, judged(accuracy=0.9))} == {(90.0, 90.0)}


def test_the_first_step_is_a_phase_of_its_own():
    seconds = {row["phase"]: row["seconds"] for row in rows(phases.chart, judged(step=0.01, steps=11))}
    assert list(seconds) == list(phases.PHASES)
    assert (seconds["first step"], seconds["other steps"]) == (pytest.approx(0.1), pytest.approx(0.1))


def test_memory_is_shown_by_phase_without_the_end_of_the_worker():
    assert [row["phase"] for row in rows(memory.chart, judged())] == ["import", "build", "train", "evaluate"]


def test_cpu_usage_is_the_mean_between_samples_in_the_phase_of_the_later_one():
    seen = [row for row in rows(timelines.chart, judged(runs=1)) if row["series"].endswith("CPUs")]
    assert [(row["seconds"], row["value"], row["phase"]) for row in seen] == [
        (2.5, 0.0, "between"),
        (7.0, 2.0, "train"),
    ]


def test_memory_over_time_is_as_sampled():
    seen = [row for row in rows(timelines.chart, judged(runs=1)) if "memory" in row["series"]]
    assert [row["value"] for row in seen] == [1.0, 2.0, 3.0]


def test_utilisation_is_relative_to_the_peak_of_the_machine():
    assert [(row["share"], row["machine"]) for row in rows(utilisation.chart, judged(runs=1))] == [(25.0, 200.0)]


def test_only_figures_that_a_gpu_reports_are_shown():
    assert [(row["figure"], row["value"]) for row in rows(gpus.chart, judged(runs=1))] == [("utilisation (%)", 50.0)]


def test_a_version_that_differs_comes_first():
    newer = judged(session="20261122T000000-1")
    run = records.run(versions={**records.VERSIONS, "torch": "2.13.0"})
    cases = measured(
        judged(), type(newer)(session=newer.session, result=newer.result, runs=(run,), context=newer.context)
    )
    first, *others = joined(environments.chart(cases), cases)
    assert (first["package"], first["versions"], first["differs"]) == (
        "torch",
        "2.12.0 (1 cases), 2.13.0 (1 cases)",
        "yes",
    )
    assert {row["differs"] for row in others} == {"no"}


def test_each_machine_class_has_one_row():
    other = {"machine": records.machine(name="another", cores=64)}
    found = rows(machines.chart, judged(), judged("jax"), judged("mxnet", context=other))
    assert [(row["machine"], row["cores"], row["cases"]) for row in found] == [
        ("linux-acme-2cores-8gib", 2, 2),
        ("another", 64, 1),
    ]


def test_inference_has_its_batches_and_the_first_one_separately():
    first, *_ = rows(latencies.chart, inferred(batch=0.1))
    assert (first["run"], first["first"], first["batch_size"]) == (1, 500.0, 8)
    assert first["median"] == pytest.approx(105)


def test_phases_of_a_step_are_those_of_its_breakdown_and_not_of_the_run():
    found = rows(breakdown.chart, divided(), judged())
    assert {row["phase"]: row["seconds"] for row in found} == {"forward": 0.003, "backward": 0.006, "update": 0.001}
    assert isinstance(breakdown.chart(measured(judged())), Nothing)


def test_layers_have_both_passes_and_their_share():
    found = rows(layers.chart, divided(), judged())
    assert [(row["layer"], row["kind"], row["forward"], row["backward"]) for row in found] == [
        ("conv1", "conv2d", 2.0, 5.0),
        ("fc1", "dense", 0.5, 1.0),
        ("loss", "loss", 0.5, 1.0),
    ]
    assert [row["share"] for row in found] == pytest.approx([70.0, 15.0, 15.0])


def test_phases_of_inference_are_its_batches():
    seconds = {row["phase"]: row["seconds"] for row in rows(phases.chart, inferred(batch=0.1))}
    assert (seconds["first step"], seconds["other steps"]) == (0.5, pytest.approx(0.21))


def test_an_inference_run_is_not_a_training():
    for draw in (accuracy.chart, step_series.chart, step_times.chart):
        assert isinstance(draw(measured(inferred())), Nothing)
