import re
from dataclasses import replace

import pytest

from pytest_dlbench.judging import METRICS, Metric, extended
from pytest_dlbench.records import CaseOutcome
from pytest_dlbench.records.reasons import InvalidRuns
from pytest_dlbench.reporting.columns import Layout, heading
from pytest_dlbench.reporting.tables import RULE, Row, tables
from tests.doubles import records


def result(name="training-pytorch-mnist-cnn-digits28-cpu-quick", framework="pytorch", model="mnist-cnn", **changes):
    return records.case_result(case=records.case(name, framework=framework, model=model), **changes)


def of(
    framework, *, test="bench/test_it.py::test_it", model="mnist-cnn", steps=(0.01, 0.01, 0.01), marks=(), **changes
):
    figures = {**records.case_result().figures, "step_time": steps[len(steps) // 2]}
    name = f"training-{framework}-{model}-digits28-cpu-quick"
    shown = result(name, framework, model, **{"figures": figures, **changes})
    return Row(result=shown, test=test, marks=marks, values={"step_time": steps})


def show(*rows, **layout):
    return tables(rows, Layout(**layout))


def names(lines):
    """The cases of all tables, in order, by their frameworks."""
    return [line.split("-")[0] for line in lines if "-digits28-" in line]


def row(**changes):
    _, line, _ = show(Row(result=result(**changes)))
    return line


# One table


def test_the_table_has_a_heading_and_one_line_per_case():
    lines = show(*(Row(result=result(f"training-jax-net{number}-digits28-cpu-quick")) for number in range(5)))
    assert [line.split()[0] for line in lines[:-1]] == ["case", *(f"jax-net{n}-digits28-cpu" for n in range(5))]


@pytest.mark.parametrize("outcome", CaseOutcome)
def test_every_outcome_is_shown_in_the_last_column(outcome):
    assert row(outcome=outcome).endswith(f" {outcome.value}")


def test_a_saved_case_is_shown_as_saved():
    assert row(saved=True).endswith(" saved")


@pytest.mark.parametrize("shown", ["3", "5,800", "11.0 ms", "10.0 ms", "50.0 ms", "95.00 %", "500 MiB", "1.75"])
def test_a_line_has_every_figure(shown):
    assert f" {shown} " in row()


def test_a_case_without_figures_has_dashes():
    runs, *others, _ = Layout().shown()
    assert runs == "runs"
    assert row(figures={}, outcome=CaseOutcome.TIMEOUT).split()[2:] == [*"–" * len(others), "timeout"]


def test_a_long_name_is_not_cut():
    name = "pytorch-" + "very-long-" * 20 + "digits28-cpu"
    assert show(Row(result=result(f"training-{name}-quick")))[1].startswith(f"{name} ")


@pytest.mark.parametrize(
    ("case", "shown"),
    [
        ("training-pytorch-quickdraw-net-digits28-cpu-quick", "pytorch-quickdraw-net-digits28-cpu"),
        ("training-pytorch-net-quick-digits28-cpu-quick", "pytorch-net-quick-digits28-cpu"),
        ("training-pytorch-net-digits28-cpu-quick-threads2", "pytorch-net-digits28-cpu-threads2"),
        ("quick-pytorch-net-digits28-cpu-quick", "quick-pytorch-net-digits28-cpu"),
    ],
)
def test_a_name_omits_the_scale_and_nothing_that_looks_like_it(case, shown):
    assert show(Row(result=result(case)))[1].startswith(f"{shown} ")


@pytest.mark.parametrize("label", ["big[bold]", "x[/red]", ":smile:"])
def test_a_name_is_text_and_not_markup(label):
    assert show(Row(result=result(f"{label}-net-digits28-cpu-quick")))[1].startswith(f"{label}-net-digits28-cpu ")


def test_columns_align_with_their_headings():
    rows = (Row(result=result("training-a-quick")), Row(result=result("training-abcdefghijkl-quick")))
    heading, short, long, _ = show(*rows)
    ends = [len(line) for line in (heading, short, long)]
    assert max(ends) - min(ends) <= len("verdict") - len("passed")
    assert short.index("5,800") == long.index("5,800")


# Which tables, columns and order


def test_every_test_function_has_its_own_table_under_its_name():
    lines = show(of("jax"), of("pytorch", test="bench/test_it.py::test_other"))
    assert [line for line in lines if "::" in line] == ["bench/test_it.py::test_it", "bench/test_it.py::test_other"]
    assert sum(line.startswith("case ") for line in lines) == 2


def test_a_single_table_has_no_title():
    assert show(of("jax"), of("pytorch"))[0].startswith("case ")


@pytest.mark.parametrize(
    ("axis", "titles"), [("framework", ["framework jax", "framework mlx"]), ("device", ["device cpu"])]
)
def test_tables_are_grouped_by_an_axis(axis, titles):
    lines = show(of("jax"), of("mlx"), of("jax", model="lenet"), group_by=(axis,))
    assert [line.partition(", ")[2] for line in lines if "::" in line] == titles


def test_tables_are_grouped_by_several_axes():
    lines = show(of("jax"), of("jax", model="lenet"), group_by=("model", "device"))
    assert sum("::" in line for line in lines) == 2
    assert "bench/test_it.py::test_it, model lenet, device cpu" in lines


def test_tables_are_grouped_by_marks_except_framework_and_device():
    rows = [of(name, marks=("cnn", "cpu", name)) for name in ("jax", "mlx")]
    lines = show(*rows, of("jax", model="fcn", marks=("cpu", "fcn", "jax")), group_by=("mark",))
    assert [line.partition(", ")[2] for line in lines if "::" in line] == ["cnn", "fcn"]


def test_only_requested_columns_are_shown_in_the_requested_order():
    heading, line, _ = show(of("jax"), columns=("verdict", "accuracy"))
    assert heading.split() == ["case", "verdict", "accuracy"]
    assert line.split()[1:] == ["passed", "95.00", "%"]


@pytest.mark.parametrize("name", METRICS)
def test_every_metric_can_be_a_column(name):
    headings, _, _ = show(of("jax"), columns=(name,))
    assert headings.endswith(heading(name))


def test_by_default_cases_are_in_the_order_of_the_tests():
    assert names(show(of("mlx"), of("jax"))) == ["mlx", "jax"]


def test_sorted_by_a_metric_the_best_is_first_and_cases_without_it_last():
    failed = of("caffe2", figures={}, outcome=CaseOutcome.TIMEOUT)
    assert names(show(failed, of("mlx", steps=(0.02,)), of("jax", steps=(0.01,)), sort="step_time")) == [
        "jax",
        "mlx",
        "caffe2",
    ]


def test_sorted_by_a_metric_of_which_more_is_better_the_largest_is_first():
    slow, quick = ({**records.case_result().figures, "throughput": value} for value in (10.0, 20.0))
    assert names(show(of("mlx", figures=slow), of("jax", figures=quick), sort="throughput")) == ["jax", "mlx"]


def test_cases_are_sorted_by_name():
    assert names(show(of("mlx"), of("jax"), sort="name")) == ["jax", "mlx"]


# The best

FAST, SLOW = (0.0100, 0.0101, 0.0102), (0.0200, 0.0201, 0.0202)


def marked(*rows):
    return [line.split("-")[0] for line in show(*rows) if " *" in line]


def test_the_best_is_marked_and_the_mark_explained():
    rows = of("jax", steps=FAST), of("mlx", steps=SLOW)
    assert marked(*rows) == ["jax"]
    assert RULE in show(*rows)


def test_overlapping_intervals_are_not_marked():
    rows = of("jax", steps=FAST), of("mlx", steps=(0.0099, 0.0101, 0.0103))
    assert marked(*rows) == []
    assert RULE not in show(*rows)


KEPT = InvalidRuns(invalid=1, runs=3, first="others used 1.7 CPUs")


@pytest.mark.parametrize(
    "changes", [{"outcome": CaseOutcome.INVALID}, {"outcome": CaseOutcome.FAILED}, {"cautions": (KEPT,)}]
)
def test_the_best_is_marked_among_valid_cases_only(changes):
    spoiled, quick, slow = of("a", steps=(0.001,) * 3, **changes), of("b", steps=FAST), of("c", steps=SLOW)
    assert marked(spoiled, quick, slow) == ["b"]
    assert marked(spoiled, quick) == []


def test_two_runs_are_too_few_for_a_mark():
    assert marked(of("jax", steps=FAST[:2]), of("mlx", steps=SLOW)) == []


@pytest.mark.parametrize("changes", [{"model": "lenet"}, {"test": "bench/test_it.py::test_other"}])
def test_only_cases_that_differ_in_the_framework_alone_are_compared(changes):
    assert marked(of("jax", steps=FAST), of("mlx", steps=SLOW, **changes)) == []


def test_a_single_case_is_not_marked():
    assert marked(of("jax", steps=FAST)) == []


def test_a_metric_of_some_models_is_a_column_if_one_of_them_is_shown():
    tokens = result("training-jax-lstm-pydoc32-cpu-quick")
    tokens = replace(tokens, figures={**tokens.figures, "top5_accuracy": 0.61, "perplexity": 113.4})
    heading, without, with_them, _ = show(Row(result=result()), Row(result=tokens))
    assert heading.index("top-5 accuracy") < heading.index("perplexity")
    assert " 61.00 %  113 tokens " in with_them
    assert without.count("–") == with_them.count("–") + 2


def test_a_table_of_inference_has_latencies_and_no_steps():
    applied = {"throughput": 12.0, "latency": 0.5, "latency_median": 0.6, "latency_p90": 0.7, "peak_rss": 2.0**29}
    heading, line, _ = show(Row(result=result("inference-jax-net-digits28-cpu-quick", figures=applied)))
    assert "latency median  latency 10 %  latency 90 %" in heading
    assert "step" not in heading
    assert " 600 ms        500 ms        700 ms " in line


def test_a_table_of_operators_has_the_passes_that_some_case_has_and_no_other_metric():
    product = {"forward_time": 0.01, "forward_arithmetic": 24.5, "forward_share": 0.8, "backward_data_time": 0.02}
    layer = {"forward_time": 0.03, "forward_arithmetic": 12.5, "forward_share": 0.4, "backward_time": 0.06}
    cases = {"operator-jax-gemm-cpu-quick": product, "operator-jax-lstm-cpu-quick": layer}
    heading, gemm, lstm, _ = show(*(Row(result=result(name, figures=figures)) for name, figures in cases.items()))
    assert re.split(" {2,}", heading) == [
        *("case", "runs", "forward 10 %", "forward arithmetic", "forward of probes", "by data 10 %", "backward 10 %"),
        "verdict",
    ]
    # What one of them lacks is a dash.
    assert re.split(" {2,}", gemm)[5:7] == ["20.0 ms", "–"]
    assert re.split(" {2,}", lstm)[5:7] == ["–", "60.0 ms"]


OWN = Metric(name="own", unit="J", better="lower", kind="ratio", value=lambda _: 1.0, default_views=("table",))


def test_a_metric_of_a_hook_has_a_column_if_its_entry_says_so():
    shown = result(figures={**records.case_result().figures, "own": 36.0})
    headings, line, _ = show(Row(result=shown), metrics=extended(METRICS, [OWN]))
    assert "  own  equal to  verdict" in headings
    assert "  36.0 J  " in line


def test_a_metric_of_a_hook_that_is_not_installed_is_a_column_on_request():
    shown = result(figures={**records.case_result().figures, "own": 36.0})
    headings, line, _ = show(Row(result=shown), columns=("own",))
    assert (headings.split(), line.split()[1:]) == (["case", "own"], ["36.0"])
