"""Latency of inference, run by run."""

from collections.abc import Iterator, Mapping, Sequence
from statistics import median, quantiles
from typing import Any

import altair as alt

from pytest_dlbench.judging import METRICS
from pytest_dlbench.judging.readings import timed_batches
from pytest_dlbench.records import Run
from pytest_dlbench.reporting.charts import look
from pytest_dlbench.reporting.charts.chart import Chart, Nothing, Row
from pytest_dlbench.reporting.charts.measured import Measured

NAME, TITLE = "latencies", "Latency of inference"
LEAD = (
    "One line per run, from the 10 % to the 90 % quantile of its batches; the tick is the median. The first batch,"
    " which compiles, is only in the table."
)
COLUMNS = {
    "case": "case",
    "run": "run",
    "low": "10 % (ms)",
    "median": "median (ms)",
    "high": "90 % (ms)",
    "first": "first batch (ms)",
    "throughput": "samples/s",
    "batch_size": "batch size",
}


def chart(cases: Sequence[Measured]) -> Chart | Nothing:
    """Quantiles of every inference run."""
    rows = tuple(row for number, case in enumerate(cases) for run in case.finished for row in _rows(number, run))
    if not rows:
        return Nothing(name=NAME, title=TITLE, because="no case ran inference; -m inference does")
    return Chart(name=NAME, title=TITLE, lead=LEAD, columns=COLUMNS, rows=rows, picture=_picture(cases), limit="case")


def _rows(number: int, run: Run) -> Iterator[Row]:
    if run.inference:
        batches = [1e3 * seconds for seconds in timed_batches(run)]
        deciles = quantiles(batches, n=10, method="inclusive") if len(batches) > 1 else batches
        first = 1e3 * run.inference.batch_seconds[0]
        rate = METRICS["throughput"].figure(run)
        values = (deciles[0], median(batches), deciles[-1], first, rate, run.inference.batch_size)
        yield (number, run.index + 1, *values)


def _picture(cases: Sequence[Measured]) -> Mapping[str, Any]:
    base = alt.Chart(look.ROWS).encode(
        y=look.label("case"), yOffset=alt.YOffset("run:O", sort="ascending"), color=look.framework_of_row(cases)
    )
    title, scale = "milliseconds per batch", alt.Scale(type="log", nice=False, padding=12)
    span = base.mark_rule(strokeWidth=2, opacity=0.55).encode(x=alt.X("low:Q", title=title, scale=scale), x2="high:Q")
    middle = base.mark_point(shape="stroke", angle=90, size=70, strokeWidth=2.5).encode(
        x=alt.X("median:Q", title=title, scale=scale),
        tooltip=look.hint(
            ("case:N", "case"),
            ("run:O", "run"),
            ("low:Q", "10 %"),
            ("median:Q", "median"),
            ("high:Q", "90 %"),
            ("throughput:Q", "samples/s"),
        ),
    )
    return look.specification(alt.layer(span, middle), alt.Step(7))
