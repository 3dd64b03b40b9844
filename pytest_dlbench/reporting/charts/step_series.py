"""The time of every step, with the warm-up that figures exclude."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import altair as alt

from pytest_dlbench.judging import steady_steps
from pytest_dlbench.records import Run
from pytest_dlbench.reporting.charts import look
from pytest_dlbench.reporting.charts.chart import Chart, Nothing, Row
from pytest_dlbench.reporting.charts.measured import Measured
from pytest_dlbench.reporting.charts.thinning import thinned

NAME, TITLE = "step-series", "Step by step"
LEAD = (
    "The time of each step of one case, one line per run. Left of the dashed line is the warm-up, of which figures use"
    " only the first step; in long series, later points are medians of several steps."
)
COLUMNS = {"case": "case", "run": "run", "step": "step", "milliseconds": "time (ms)", "warm_up": "warm-up (steps)"}
POINTS = 80


def chart(cases: Sequence[Measured]) -> Chart | Nothing:
    """The series of every finished run; one case at a time."""
    rows = tuple(row for number, case in enumerate(cases) for run in case.trained for row in _rows(number, run))
    if not rows:
        return Nothing(name=NAME, title=TITLE, because="no run finished training")
    return Chart(name=NAME, title=TITLE, lead=LEAD, columns=COLUMNS, rows=rows, picture=_picture(), choose="case")


def _rows(number: int, run: Run) -> Iterator[Row]:
    if run.training:
        seconds = run.training.step_seconds
        warm_up = len(seconds) - len(steady_steps(run.training))
        for step, value in thinned(seconds, POINTS):
            yield (number, run.index + 1, step + 1, float(f"{1e3 * value:.5g}"), warm_up)


def _picture() -> Mapping[str, Any]:
    base = alt.Chart(look.ROWS)
    line = base.mark_line(strokeWidth=1.5, point={"size": 18}).encode(
        x=alt.X("step:Q", title="step", scale=alt.Scale(nice=False, zero=False)),
        y=alt.Y("milliseconds:Q", title="milliseconds", scale=alt.Scale(type="log", nice=False, padding=8)),
        color=alt.Color("run:N", title="run"),
        tooltip=look.hint(("run:N", "run"), ("step:Q", "step"), ("milliseconds:Q", "milliseconds")),
    )
    cut = (
        base.mark_rule(strokeDash=[5, 4], strokeWidth=1.5, color="#8290a3")
        .transform_aggregate(cut="max(warm_up)")
        .transform_calculate(cut="datum.cut + 0.5")
        .encode(x="cut:Q")
    )
    return look.specification(alt.layer(line, cut), look.HEIGHT)
