"""Test accuracy against training time."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import altair as alt

from pytest_dlbench.judging.readings import training_time
from pytest_dlbench.records import CurvePoint, Run
from pytest_dlbench.reporting.charts import curves, look
from pytest_dlbench.reporting.charts.chart import Chart, Nothing, Row
from pytest_dlbench.reporting.charts.measured import Measured

NAME, TITLE = "accuracy-time", "Accuracy against seconds"
LEAD = (
    "Test accuracy at every evaluation against the seconds of all training steps so far, including compilation but not"
    " evaluations, one cell at a time: one line per run, or for many frameworks the band of the runs of each before the"
    " medians of the others. Up and to the left is better."
)
COLUMNS = {
    "case": "case",
    "run": "run",
    "step": "step",
    "epoch": "epochs",
    "seconds": "training (s)",
    "accuracy": "accuracy (%)",
    "loss": "test loss",
    "target": "target accuracy (%)",
}


def chart(cases: Sequence[Measured]) -> Chart | Nothing:
    """Every finished run; one cell at a time."""
    rows = tuple(row for number, case in enumerate(cases) for run in case.trained for row in _rows(number, run))
    if not rows:
        return Nothing(name=NAME, title=TITLE, because="no run finished training and evaluation")
    scale = alt.Scale(type="log", nice=False, padding=20)
    picture = drawn(cases, "seconds", "seconds of training", scale)
    return Chart(name=NAME, title=TITLE, lead=LEAD, columns=COLUMNS, rows=rows, picture=picture, choose="cell")


def _rows(number: int, run: Run) -> Iterator[Row]:
    if run.curve:
        for point in run.curve:
            yield row(number, run, point)
    elif run.evaluation and run.training:
        # Files from before curves were recorded have only the last evaluation.
        known = (training_time(run), 100 * run.evaluation.correct / run.evaluation.examples, run.evaluation.loss, None)
        yield (number, run.index + 1, len(run.training.step_seconds), None, *known)


def row(number: int, run: Run, point: CurvePoint) -> Row:
    """One evaluation, by ``COLUMNS``."""
    target = None if run.target_accuracy is None else 100 * run.target_accuracy
    found = (point.step, point.epoch, point.seconds, 100 * point.accuracy, point.loss, target)
    return (number, run.index + 1, *found)


def drawn(cases: Sequence[Measured], column: str, title: str, scale: alt.Scale) -> Mapping[str, Any]:
    """Accuracy over one of the columns."""
    share = look.share()
    if curves.is_crowded(cases):
        return curves.apart(cases, (column, title, scale), ("accuracy", "accuracy (%)", share))
    hint = look.hint(
        ("case:N", "case"),
        ("run:O", "run"),
        ("epoch:Q", "epochs"),
        ("seconds:Q", "seconds"),
        ("accuracy:Q", "accuracy (%)"),
    )
    x, y = alt.X(f"{column}:Q", title=title, scale=scale), alt.Y("accuracy:Q", title="accuracy (%)", scale=share)
    # Most runs have no target, and Vega would warn of an infinite extent.
    aim = "isValid(datum.target) ? datum.target : datum.accuracy"
    target = (
        alt.Chart(look.ROWS)
        .mark_rule(strokeDash=[5, 4], color="#8290a3")
        .transform_calculate(aim=aim)
        .encode(
            y=alt.Y("aim:Q", title="accuracy (%)"),
            opacity=alt.condition("isValid(datum.target)", alt.value(1), alt.value(0)),
        )
    )
    return look.specification(alt.layer(*curves.together(cases, x, y, hint), target), look.HEIGHT)
