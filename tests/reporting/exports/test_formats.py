"""Each format for a valid case and an unfinished one."""

import csv
import json
from dataclasses import replace
from io import BytesIO, StringIO

import pandas as pd
import pytest

from pytest_dlbench.judging import METRICS
from pytest_dlbench.records import CaseOutcome, CurvePoint
from pytest_dlbench.records.reasons import OnBattery
from pytest_dlbench.reporting.exports import FORMATS
from pytest_dlbench.reporting.exports.rows import kinds


def export(name, *recorded):
    return FORMATS[name].write(recorded)


def table(*recorded):
    return list(csv.DictReader(StringIO(export("csv", *recorded).decode())))


def events(*recorded):
    lines = export("mllog", *recorded).decode().splitlines()
    assert all(line.startswith(":::MLLOG {") for line in lines)
    return [json.loads(line.removeprefix(":::MLLOG ")) for line in lines]


@pytest.mark.parametrize("name", FORMATS)
def test_an_empty_session_can_be_exported(name):
    export(name)


@pytest.mark.parametrize("name", FORMATS)
def test_an_unfinished_case_can_be_exported(name, sound, unfinished):
    export(name, unfinished, sound)


def test_csv_has_a_row_for_each_run(sound):
    rows = table(sound)
    assert [row["seed"] for row in rows] == ["1", "2", "3"]
    assert [float(row["step_time"]) for row in rows] == pytest.approx([0.010, 0.011, 0.012])


def test_csv_keeps_an_unfinished_run_with_its_outcome_and_no_figures(unfinished):
    (row,) = table(unfinished)
    assert row["run_outcome"] == "timeout"
    assert {row[name] for name in METRICS} == {""}


def test_csv_has_the_baseline_of_pairs_before_the_candidate(sound):
    old = replace(sound.record, case=replace(sound.record.case, framework="pytorch==2.12.0"))
    rows = table(replace(sound, old=old))
    assert [row["framework"] for row in rows] == [*["pytorch==2.12.0"] * 3, *["pytorch"] * 3]
    assert [row["case_outcome"] for row in rows] == [*[""] * 3, *["passed"] * 3]


def test_csv_keeps_names_with_commas_and_quotes(sound):
    case = replace(sound.record.case, dataset='a,"b"')
    odd = replace(sound, record=replace(sound.record, case=case))
    assert {row["dataset"] for row in table(odd)} == {'a,"b"'}


def test_parquet_has_the_rows_of_csv_with_types(sound, unfinished):
    frame = pd.read_parquet(BytesIO(export("parquet", sound, unfinished)))
    assert list(frame.columns) == list(kinds())
    assert len(frame) == 4
    assert frame["seed"].dtype == "int64"
    assert frame.groupby("case")["step_time"].median()[sound.record.case.id] == 0.011


def test_bencher_has_every_metric_between_its_extreme_runs(sound):
    measures = json.loads(export("bencher", sound))[sound.record.case.id]
    assert measures.keys() == sound.result.figures.keys()
    assert measures["step_time"] == pytest.approx({"value": 0.010, "lower_value": 0.010, "upper_value": 0.012})


def test_bencher_omits_unfinished_cases(unfinished):
    assert json.loads(export("bencher", unfinished)) == {}


@pytest.fixture
def disturbed(sound):
    """The case with an invalid run, kept by --dlbench-allow."""
    first, *others = sound.record.runs
    runs = (replace(first, invalid=(OnBattery(), "hot")), *others)
    result = replace(sound.result, outcome=CaseOutcome.INVALID)
    return replace(sound, record=replace(sound.record, runs=runs), result=result)


def test_every_format_marks_an_invalid_run_or_omits_its_case(disturbed):
    (first, *_) = table(disturbed)
    assert first["invalid"] == "the machine ran on its battery; hot"
    assert pd.read_parquet(BytesIO(export("parquet", disturbed)))["invalid"][0] == "the machine ran on its battery; hot"
    assert json.loads(export("bencher", disturbed)) == {}
    assert "1 of them invalid, invalid" in json.loads(export("github-action-benchmark", disturbed))[0]["extra"]
    (benchmark,) = json.loads(export("pytest-benchmark", disturbed))["benchmarks"]
    assert benchmark["extra_info"]["invalid_runs"] == 1
    (stop, *_) = (event for event in events(disturbed) if event["key"] == "run_stop")
    assert stop["metadata"]["invalid"] == "the machine ran on its battery; hot"


def test_github_action_benchmark_has_figures_of_which_smaller_is_better(sound):
    entries = {
        entry["name"].rpartition(": ")[2]: entry for entry in json.loads(export("github-action-benchmark", sound))
    }
    assert {name: entry["unit"] for name, entry in entries.items()} == {
        "step time": "ms",
        "peak memory": "MiB",
        "test error": "%",
    }
    assert entries["step time"]["value"] == pytest.approx(10)
    assert entries["step time"]["range"] == "± 1"
    assert entries["test error"]["value"] == pytest.approx(5)


def test_mllog_has_each_run_with_its_seed(sound):
    assert [event["value"] for event in events(sound) if event["key"] == "seed"] == [1, 2, 3]


def test_mllog_times_of_a_run_never_decrease(sound):
    found = events(sound)
    first = [event["time_ms"] for event in found[: len(found) // 3]]
    assert first == sorted(first)


def test_mllog_has_the_timed_region_as_an_interval(sound):
    times = {event["key"]: event["time_ms"] for event in events(sound)}
    assert times["run_stop"] - times["run_start"] == 2000


def test_mllog_ends_training_before_the_last_evaluation_where_it_stopped_early_too(sound):
    run, context = sound.record.runs[0], sound.record.context
    taken = len(run.training.step_seconds)
    usual = {"epoch": 1.0, "seconds": 1.0, "accuracy": 0.9, "loss": 0.1}
    curve = tuple(CurvePoint(step=step, **usual) for step in (taken // 2, taken))
    record = replace(sound.record, runs=(replace(run, curve=curve),), context=replace(context, steps=2 * taken))
    assert [event["key"] for event in events(replace(sound, record=record))][-3:] == [
        "eval_accuracy",
        "run_stop",
        "eval_accuracy",
    ]


def test_mllog_reports_an_unfinished_run_as_aborted(unfinished):
    (stop,) = (event for event in events(unfinished) if event["key"] == "run_stop")
    assert stop["metadata"] == {"status": "aborted"}


@pytest.mark.parametrize("name", FORMATS)
def test_inference_can_be_exported(name, applied):
    assert export(name, applied)


def test_pytest_benchmark_has_the_latency_of_inference(applied):
    (benchmark,) = json.loads(export("pytest-benchmark", applied))["benchmarks"]
    assert benchmark["extra_info"]["metric"] == "latency"
    assert benchmark["stats"]["median"] == pytest.approx(0.1)


def test_a_metric_of_a_hook_that_is_not_installed_is_exported_run_by_run(sound):
    runs = tuple(replace(run, hooked={"plug_energy": 10.0 * run.seed}) for run in sound.record.runs)
    hooked = replace(sound, record=replace(sound.record, runs=runs))
    assert [row["plug_energy"] for row in table(hooked)] == ["10.0", "20.0", "30.0"]
    assert pd.read_parquet(BytesIO(export("parquet", hooked)))["plug_energy"].median() == 20.0
