"""What was learnt against how long it took."""

from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt

from pytest_dlbench.judging import METRICS
from pytest_dlbench.reporting.charts import look
from pytest_dlbench.reporting.charts.chart import Chart, Nothing
from pytest_dlbench.reporting.charts.measured import Measured

NAME, TITLE = "accuracy-time", "Accuracy against seconds"
LEAD = (
    "One dot a run of one cell: the seconds of all its training steps, compilation included, and the accuracy that it"
    " ended with. Up and to the left is better."
)
COLUMNS = {"case": "case", "run": "run", "seconds": "training (s)", "accuracy": "accuracy (%)"}


def chart(cases: Sequence[Measured]) -> Chart | Nothing:
    """Every finished run; one cell at a time."""
    rows = tuple(
        (number, run.index + 1, sum(run.training.step_seconds), 100 * METRICS["accuracy"].figure(run))
        for number, case in enumerate(cases)
        for run in case.trained
        if run.training
    )
    if not rows:
        return Nothing(name=NAME, title=TITLE, because="no run was trained and evaluated to its end")
    return Chart(name=NAME, title=TITLE, lead=LEAD, columns=COLUMNS, rows=rows, picture=_picture(cases), choose="cell")


def _picture(cases: Sequence[Measured]) -> Mapping[str, Any]:
    dots = (
        alt.Chart(look.ROWS)
        .mark_point(filled=True, size=90, opacity=0.8)
        .encode(
            x=alt.X("seconds:Q", title="seconds of training", scale=alt.Scale(type="log", nice=False, padding=20)),
            y=alt.Y("accuracy:Q", title="accuracy (%)", scale=alt.Scale(zero=False, padding=12)),
            color=look.framework(cases),
            tooltip=look.hint(
                ("case:N", "case"), ("run:O", "run"), ("seconds:Q", "seconds"), ("accuracy:Q", "accuracy (%)")
            ),
        )
    )
    return look.specification(dots, look.HEIGHT)
