"""The distribution of steady step times, run by run."""

from collections.abc import Iterator, Mapping, Sequence
from statistics import median, quantiles
from typing import Any

import altair as alt

from pytest_dlbench.judging import steady_steps
from pytest_dlbench.records import Run
from pytest_dlbench.reporting.charts import look
from pytest_dlbench.reporting.charts.chart import Chart, Nothing, Row
from pytest_dlbench.reporting.charts.measured import Measured

NAME, TITLE = "step-times", "Step times"
LEAD = (
    "One line per run, from the 10 % to the 90 % quantile of its steady steps; the tick is the median. Long lines mean"
    " other processes on the machine, or work that varies; intervals are computed from the variation between runs."
)
COLUMNS = {
    "case": "case",
    "run": "run",
    "low": "10 % (ms)",
    "median": "median (ms)",
    "high": "90 % (ms)",
    "steps": "steady steps",
}


def chart(cases: Sequence[Measured]) -> Chart | Nothing:
    """Quantiles of every finished run."""
    rows = tuple(row for number, case in enumerate(cases) for row in _rows(number, case.trained))
    if not rows:
        return Nothing(name=NAME, title=TITLE, because="no run trained two steps after its warm-up")
    return Chart(name=NAME, title=TITLE, lead=LEAD, columns=COLUMNS, rows=rows, picture=_picture(cases), limit="case")


def _rows(number: int, runs: Sequence[Run]) -> Iterator[Row]:
    for run in runs:
        steps = [1e3 * seconds for seconds in steady_steps(run.training)] if run.training else []
        if len(steps) > 1:
            deciles = quantiles(steps, n=10, method="inclusive")
            yield (number, run.index + 1, deciles[0], median(steps), deciles[-1], len(steps))


def _picture(cases: Sequence[Measured]) -> Mapping[str, Any]:
    base = alt.Chart(look.ROWS).encode(
        y=look.label("case"), yOffset=alt.YOffset("run:O", sort="ascending"), color=look.framework_of_row(cases)
    )
    title, scale = "milliseconds", alt.Scale(type="log", nice=False, padding=12)
    span = base.mark_rule(strokeWidth=2, opacity=0.55).encode(x=alt.X("low:Q", title=title, scale=scale), x2="high:Q")
    middle = base.mark_point(shape="stroke", angle=90, size=70, strokeWidth=2.5).encode(
        x=alt.X("median:Q", title=title, scale=scale),
        tooltip=look.hint(
            ("case:N", "case"), ("run:O", "run"), ("low:Q", "10 %"), ("median:Q", "median"), ("high:Q", "90 %")
        ),
    )
    return look.specification(alt.layer(span, middle), alt.Step(7))
