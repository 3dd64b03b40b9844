"""Test accuracy against training time."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import altair as alt

from pytest_dlbench.judging.readings import accuracy, training_time
from pytest_dlbench.records import CurvePoint, Run
from pytest_dlbench.reporting.charts import look
from pytest_dlbench.reporting.charts.chart import Chart, Nothing, Row
from pytest_dlbench.reporting.charts.measured import Measured

NAME, TITLE = "accuracy-time", "Accuracy against seconds"
LEAD = (
    "Test accuracy at every evaluation against the seconds of all training steps so far, including compilation but not"
    " evaluations: one line per run, one cell at a time. Up and to the left is better."
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
    picture = drawn(cases, alt.X("seconds:Q", title="seconds of training", scale=scale))
    return Chart(name=NAME, title=TITLE, lead=LEAD, columns=COLUMNS, rows=rows, picture=picture, choose="cell")


def _rows(number: int, run: Run) -> Iterator[Row]:
    if run.curve:
        for point in run.curve:
            yield row(number, run, point)
    elif run.evaluation and run.training:
        # Files from before curves were recorded have only the last evaluation.
        known = (training_time(run), 100 * accuracy(run), run.evaluation.loss, None)
        yield (number, run.index + 1, len(run.training.step_seconds), None, *known)


def row(number: int, run: Run, point: CurvePoint) -> Row:
    """One evaluation, by ``COLUMNS``."""
    target = None if run.target_accuracy is None else 100 * run.target_accuracy
    found = (point.step, point.epoch, point.seconds, 100 * point.accuracy, point.loss, target)
    return (number, run.index + 1, *found)


def drawn(cases: Sequence[Measured], x: alt.X) -> Mapping[str, Any]:
    """Accuracy over one of the columns, a line per run."""
    base = alt.Chart(look.ROWS).encode(
        x=x,
        y=alt.Y("accuracy:Q", title="accuracy (%)", scale=alt.Scale(zero=False, padding=12)),
        color=look.framework(cases),
    )
    lines = base.mark_line(strokeWidth=1.6).encode(detail=["run:N", "case:N"], order="step:Q")
    dots = base.mark_point(filled=True, size=50, opacity=0.8).encode(
        tooltip=look.hint(
            ("case:N", "case"),
            ("run:O", "run"),
            ("epoch:Q", "epochs"),
            ("seconds:Q", "seconds"),
            ("accuracy:Q", "accuracy (%)"),
        )
    )
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
    return look.specification(alt.layer(lines, dots, target), look.HEIGHT)
