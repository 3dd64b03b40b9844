"""One row per framework, one column per number of threads."""

from dataclasses import replace

from pytest_dlbench.reporting import side_by_side
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
    title, _, headings, bars, quick, slow, _ = side_by_side.markdown(RESULTS)
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
