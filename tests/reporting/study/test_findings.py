"""What was found, cell by cell: what is stated, how figures are made, and what pictures say in words."""

from dataclasses import replace

import pytest

from pytest_dlbench.judging import METRICS, frameworks
from pytest_dlbench.records import CaseOutcome, CurvePoint
from pytest_dlbench.records.reasons import UnsteadyCores
from pytest_dlbench.reporting.charts import accuracy_epochs, phases
from pytest_dlbench.reporting.study import findings
from pytest_dlbench.reporting.study.document import Paragraph, Picture, Section
from tests.doubles.judged import judged, measured, unfinished


def section(title, *cases):
    found = {one.title: one for one in findings.findings(measured(*cases)) if isinstance(one, Section)}
    return found[title].blocks


def unsupported(framework):
    found = unfinished(framework)
    return replace(found, result=replace(found.result, outcome=CaseOutcome.UNSUPPORTED, reasons=()))


def test_a_case_that_is_not_supported_is_stated_after_the_others_of_its_cell():
    blocks = section("Network by network", judged("jax"), judged("pytorch", step=0.03), unsupported("caffe2"))
    (statement,) = [block.text for block in blocks[1:] if isinstance(block, Paragraph)]
    assert statement.startswith("tartu-mnist-cnn: pytorch takes 3.0 times as long a step as jax [")
    assert statement.endswith("]; caffe2 does not support it.")


def test_cases_that_are_not_supported_are_stated_together():
    cases = (judged("jax"), unsupported("caffe2"), judged("pytorch", step=0.03), unsupported("chainer"))
    (statement,) = [block.text for block in section("Network by network", *cases)[1:] if isinstance(block, Paragraph)]
    assert statement.endswith("]; caffe2, chainer do not support it.")


@pytest.mark.parametrize(("unsteady", "names"), [(1, ["jax", "mxnet", "pytorch"]), (2, ["jax", "mxnet"])])
def test_times_on_cores_whose_speed_varied_are_not_compared(unsteady, names):
    caution = UnsteadyCores(variation=1.9, unsteady=unsteady, runs=3)
    cases = (judged("jax"), judged("mxnet"), judged("pytorch", result={"cautions": (caution,)}))
    *_, table = section("Network by network", *cases)
    assert sorted(row[0] for row in table.rows) == names


def test_how_times_ratios_and_intervals_are_made_is_said_before_the_first_cell():
    method, *_ = section("Network by network", judged("jax"), judged("pytorch"))
    metric = METRICS["step_time"]
    assert (
        f"of {100 * metric.run_sd:g} % between runs and {100 * metric.session_sd:g} % between sessions" in method.text
    )
    assert "Its 90 % interval includes an assumed spread" in method.text


def test_with_one_run_an_interval_is_the_assumption_alone():
    metric = METRICS["step_time"]
    found = [frameworks.of_runs(metric, [value], [value]) for value in (0.01, 20.0)]
    assert found[0].lower == pytest.approx(found[1].lower)
    assumed = replace(metric, run_sd=2 * metric.run_sd, session_sd=2 * metric.session_sd)
    assert frameworks.of_runs(assumed, [0.01], [0.01]).lower < found[0].lower


def test_a_table_says_which_figure_is_the_median_and_what_is_in_brackets():
    uneven = judged("jax", step=0.0001, spread=0.9)
    *_, table = section("Network by network", uneven, judged("pytorch", step=0.1))
    assert table.headings[2:5] == (
        "step (10 % quantile), median",
        "ratio to the fastest, 90 % interval",
        "accuracy, median [lowest, highest]",
    )
    # 59 times as long as a later step, because the first one is ten times as long.
    training = table.headings.index("training time, median [lowest, highest]")
    assert table.rows[0][training] == "11.2 ms [5.90 ms, 16.5 ms]"


def curved(framework, *runs):
    """A case whose runs have these accuracies at their evaluations."""
    found = judged(framework, runs=len(runs))
    curves = [
        tuple(
            CurvePoint(step=step, epoch=float(step), seconds=0.1 * step, accuracy=value, loss=0.3)
            for step, value in enumerate(of_run, start=1)
        )
        for of_run in runs
    ]
    return replace(found, runs=tuple(replace(run, curve=of) for run, of in zip(found.runs, curves, strict=True)))


def test_accuracy_against_epochs_is_stated_as_the_median_of_final_accuracies():
    blocks = section(accuracy_epochs.TITLE, curved("jax", (0.5, 0.99, 0.80), (0.5, 0.7, 0.82), (0.5, 0.98, 0.90)))
    (picture,) = [block for block in blocks if isinstance(block, Picture)]
    assert picture.alt.endswith(": final accuracy (%), median over the runs, of jax 82.0")


def test_the_correlation_of_epochs_and_accuracy_names_its_figures():
    *_, table = section(accuracy_epochs.TITLE, curved("jax", (0.5, 0.6, 0.80), (0.5, 0.7, 0.6)))
    assert table.headings[3:] == ("Pearson, median [lowest, highest]", "Spearman, median [lowest, highest]")


def test_a_bar_beside_which_others_cannot_be_read_is_in_words_only():
    blocks = section(phases.TITLE, *(judged(name) for name in ("jax", "mxnet", "pytorch")), judged("slow", step=1.0))
    (picture,) = [block for block in blocks if isinstance(block, Picture)]
    (note,) = [block.text for block in blocks if isinstance(block, Paragraph) and block.text.startswith("Not shown")]
    assert note.startswith("Not shown, because longer than 5 times the median of ")
    assert ": slow (" in note
    assert picture.alt.endswith(f". {note}")
    assert ">slow<" not in picture.svg
    assert ">jax<" in picture.svg


def test_all_bars_are_shown_if_they_can_be_read():
    blocks = section(phases.TITLE, judged("jax"), judged("mxnet", step=0.02))
    (picture,) = [block for block in blocks if isinstance(block, Picture)]
    assert "Not shown" not in picture.alt
    assert ">jax<" in picture.svg
    assert ">mxnet<" in picture.svg
