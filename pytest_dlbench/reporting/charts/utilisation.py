"""The share of the machine's arithmetic peak that a run reached."""

from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt

from pytest_dlbench.reporting.charts import look
from pytest_dlbench.reporting.charts.chart import Chart, Nothing
from pytest_dlbench.reporting.charts.measured import Measured

NAME, TITLE = "utilisation", "Share of the machine's arithmetic"
LEAD = (
    "The model's multiply-adds per second as a share of what the same machine reached on large matrices, one dot per"
    " run. 100 % is the peak; small networks stay far below it, because other work takes the time."
)
COLUMNS = {
    "case": "case",
    "run": "run",
    "share": "share of the machine (%)",
    "machine": "the machine (GFLOP/s)",
}


def chart(cases: Sequence[Measured]) -> Chart | Nothing:
    """Every run whose machine speed was measured."""
    rows = tuple(
        (number, run.index + 1, 100 * run.flop_utilisation, run.speed.flops_per_second / 1e9 if run.speed else None)
        for number, case in enumerate(cases)
        for run in case.finished
        if run.flop_utilisation is not None
    )
    if not rows:
        return Nothing(name=NAME, title=TITLE, because="no run has the peak of its machine")
    return Chart(name=NAME, title=TITLE, lead=LEAD, columns=COLUMNS, rows=rows, picture=_picture(cases), limit="case")


def _picture(cases: Sequence[Measured]) -> Mapping[str, Any]:
    title, scale = "share (%)", alt.Scale(type="log", nice=False, padding=14)
    base = alt.Chart(look.ROWS).encode(y=look.label("case"))
    dots = base.mark_point(filled=True, size=50, opacity=0.8).encode(
        x=alt.X("share:Q", title=title, scale=scale),
        color=look.framework_of_row(cases),
        tooltip=look.hint(("case:N", "case"), ("run:O", "run"), ("share:Q", "share (%)"), ("machine:Q", "GFLOP/s")),
    )
    roof = alt.Chart(alt.InlineData(values=[{"roof": 100}])).mark_rule(strokeDash=[5, 4], color="#8290a3")
    return look.specification(alt.layer(dots, roof.encode(x=alt.X("roof:Q", title=title, scale=scale))), alt.Step(18))
