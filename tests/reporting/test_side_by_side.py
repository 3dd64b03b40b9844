"""One row per framework, one column per number of threads."""

from dataclasses import replace

import pytest

from pytest_dlbench.records import CaseOutcome
from pytest_dlbench.records.reasons import InvalidRuns, OnBattery
from pytest_dlbench.reporting import side_by_side
from pytest_dlbench.storing.recorded import Recorded
from tests.doubles import records
from tests.storing.test_certificates import CERTIFICATE

FIGURES = {
    "throughput": 1000.0,
    "first_step": 0.5,
    "import_time": 1.0,
    "build_time": 0.25,
    "accuracy": 0.9,
    "peak_rss": 2.0**29,
}


def result(framework: str, threads: int, speed: float, **changes):
    case = records.case(framework=framework, threads=threads)
    return replace(records.case_result(), case=case, figures={**FIGURES, "throughput": speed}, **changes)


def recorded(found, *, began="2026-11-21T02:14:05.000+00:00", machine="linux-acme-2cores-8gib"):
    runs = [replace(run, began=began) for run in records.runs()]
    context = records.context(machine=records.machine(name=machine))
    return Recorded(record=replace(records.record(runs, case=found.case), context=context), result=found)


RESULTS = [
    result("slow", 1, 100.0),
    result("slow", 2, 150.0),
    result("quick", 1, 900.0),
    result("quick", 2, 1900.0, certificate=CERTIFICATE),
]


def test_frameworks_are_rows_and_numbers_of_threads_are_columns():
    title, headings, quick, slow, *_ = side_by_side.tables(RESULTS)
    assert title == "mnist-cnn on digits28, cpu, scale quick"
    assert headings.startswith("framework  samples/s, 1 thread  samples/s, 2 threads  import   build  first step")
    assert quick.split() == [
        "quick",
        "900",
        "1,900",
        "1.00",
        "s",
        "250",
        "ms",
        "500",
        "ms",
        "90.00",
        "%",
        "512",
        "MiB",
        "1e-07",
    ]
    assert slow.split()[:3] == ["slow", "100", "150"]
    assert slow.endswith("–")


def test_a_number_of_threads_that_a_framework_did_not_run_is_a_dash():
    *_, slow, _ = side_by_side.tables([RESULTS[0], *RESULTS[2:]])
    assert slow.split()[:3] == ["slow", "100", "–"]


def test_an_unfinished_case_has_no_row():
    text = "\n".join(
        side_by_side.tables([*RESULTS, replace(RESULTS[0], figures={}, case=records.case(framework="broken"))])
    )
    assert "broken" not in text


def test_each_data_set_has_its_own_table():
    other = replace(RESULTS[0], case=records.case(framework="slow", dataset="digits32"))
    titles = [line for line in side_by_side.tables([*RESULTS, other]) if " on " in line]
    assert titles == ["mnist-cnn on digits28, cpu, scale quick", "mnist-cnn on digits32, cpu, scale quick"]


def test_markdown_has_the_same_rows():
    title, _, headings, bars, quick, slow, _ = side_by_side.markdown(map(recorded, RESULTS))
    assert title == "**mnist-cnn on digits28, cpu, scale quick**"
    assert headings.startswith("| framework | samples/s, 1 thread | samples/s, 2 threads |")
    assert bars.count("---:") == headings.count("|") - 2
    assert quick.startswith("| quick | 900 | 1,900 | 1.00 s | 250 ms | 500 ms |")
    assert slow.startswith("| slow | 100 | 150 |")


def test_points_of_a_sweep_have_their_own_tables_in_the_order_in_which_they_were_trained():
    found = [result("quick", 1, 900.0), result("quick", 1, 700.0)]
    swept = [
        replace(each, case=replace(each.case, settings={"batch_size": size, "nesterov": True}))
        for each, size in zip(found, (50, 500), strict=True)
    ]
    titles = [line for line in side_by_side.tables(swept) if line.startswith("mnist-cnn on")]
    assert titles == [
        "mnist-cnn on digits28, cpu, scale quick, batch_size 50, nesterov true",
        "mnist-cnn on digits28, cpu, scale quick, batch_size 500, nesterov true",
    ]


def test_the_kernels_of_recurrent_layers_are_a_column_where_a_framework_has_them():
    known = replace(RESULTS[3], recurrent_kernels={"aten::mkldnn_rnn_layer": "onednn", "aten::gru": "loop"})
    _, headings, quick, slow, *_ = side_by_side.tables([*RESULTS[:3], known])
    assert "  recurrent layers  equal to" in headings
    assert quick.endswith("oneDNN, loop     1e-07")
    assert slow.split()[-2:] == ["–", "–"]


def test_machines_have_their_own_tables_with_their_names():
    one, other = recorded(RESULTS[0], machine="linux-one"), recorded(RESULTS[3], machine="linux-other")
    title, *_, slow, _, second, _, _, _, quick, _ = side_by_side.markdown([one, other])
    assert title == "**mnist-cnn on digits28, cpu, scale quick, linux-one**"
    assert second == "**mnist-cnn on digits28, cpu, scale quick, linux-other**"
    assert slow.startswith("| slow | 100 |")
    assert quick.startswith("| quick | 1,900 |")


def test_of_several_sessions_of_a_case_the_newest_counts():
    found = [
        recorded(result("slow", 1, speed), began=f"2026-11-2{day}T02:14:05.000+00:00")
        for day, speed in ((1, 100.0), (3, 300.0), (2, 200.0))
    ]
    *_, slow, _ = side_by_side.markdown(found)
    assert slow.startswith("| slow | 300 |")


def test_labels_of_a_cell_have_their_own_tables():
    case = records.case("tuned-slow-mnist-cnn-digits28-cpu-quick", framework="slow", threads=1)
    usual = replace(case, id="training-slow-mnist-cnn-digits28-cpu-quick")
    found = [replace(RESULTS[0], case=one, figures={"throughput": speed}) for one, speed in ((usual, 1.0), (case, 2.0))]
    lines = side_by_side.tables(found)
    assert [line for line in lines if " on " in line] == [
        "mnist-cnn on digits28, cpu, scale quick, training",
        "mnist-cnn on digits28, cpu, scale quick, tuned",
    ]
    assert [line.split()[1] for line in lines if line.startswith("slow")] == ["1", "2"]


INVALID = (InvalidRuns(invalid=1, runs=3, first=OnBattery()),)


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"outcome": CaseOutcome.INVALID}, "invalid"),
        ({"outcome": CaseOutcome.OUT_OF_MEMORY}, "out of memory"),
        ({"outcome": CaseOutcome.REGRESSED, "cautions": INVALID}, "invalid"),
    ],
)
def test_a_case_that_is_not_sound_is_named_and_not_ranked(changes, why):
    slow, _, quick, _ = RESULTS
    lines = side_by_side.tables([slow, quick, replace(RESULTS[3], **changes)])
    assert lines[-2:] == [f"not shown: quick with 2 threads ({why})", ""]
    assert lines[2].split()[:3] == ["quick", "900", "–"]
    assert side_by_side.markdown(map(recorded, [slow, quick, replace(RESULTS[3], **changes)]))[-2:] == lines[-2:]


def test_a_group_without_a_sound_case_has_no_rows():
    title, note, _ = side_by_side.tables([replace(RESULTS[0], outcome=CaseOutcome.CRASHED)])
    assert (title, note) == ("mnist-cnn on digits28, cpu, scale quick", "not shown: slow with 1 thread (crashed)")


def test_the_last_sound_result_of_a_case_outlives_a_later_one_that_is_not():
    later = replace(result("slow", 1, 5.0), outcome=CaseOutcome.CRASHED)
    *_, slow, _ = side_by_side.tables([RESULTS[0], later])
    assert slow.split()[:2] == ["slow", "100"]
