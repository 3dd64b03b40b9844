"""Speed and accuracy over the values of a setting."""

from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import Any

import altair as alt

from pytest_dlbench.judging import METRICS, Metric, shown_in
from pytest_dlbench.planning.sweep import show
from pytest_dlbench.reporting import foreign
from pytest_dlbench.reporting.charts import look
from pytest_dlbench.reporting.charts.chart import Chart, Nothing, Row, Value
from pytest_dlbench.reporting.charts.measured import Measured

NAME, TITLE = "sweeps", "Sweeps of settings"
LEAD = (
    "One square per point of a sweep, the values of one setting side by side. The number is what was measured; the"
    " colour is its ratio to the largest in the row."
)
COLUMNS = {
    "case": "case",
    "sweep": "sweep and metric",
    "series": "framework and other settings",
    "value": "value",
    "figure": "figure",
    "shown": "shown",
    "share": "ratio to the row's largest",
}


def chart(cases: Sequence[Measured]) -> Chart | Nothing:
    """A heat map of each metric over each setting that has several values; one at a time."""
    found: dict[tuple[str, str, str], list[tuple[int, Measured]]] = {}
    for number, case in enumerate(cases):
        for setting in case.case.settings if case.finished else ():
            others = (
                f"{name} {foreign.line(show(value))}" for name, value in case.case.settings.items() if name != setting
            )
            series = " · ".join((case.case.framework, *others))
            found.setdefault((case.subject, setting, series), []).append((number, case))
    rows = tuple(
        row
        for metric in shown_in("sweeps", METRICS)
        for (subject, setting, series), group in found.items()
        if len({case.case.settings[setting] for _, case in group}) > 1
        for row in _rows(metric, subject, setting, series, group)
    )
    if not rows:
        because = "no setting has several values; --dlbench-set batch_size=50,500,5000 is a sweep"
        return Nothing(name=NAME, title=TITLE, because=because)
    return Chart(name=NAME, title=TITLE, lead=LEAD, columns=COLUMNS, rows=rows, picture=_picture(), choose="sweep")


def _rows(metric: Metric, subject: str, setting: str, series: str, group: Sequence[tuple[int, Measured]]) -> list[Row]:
    unit, factor, form = (f"{metric.heading} in %", 100.0, ".1f") if metric.unit == "share" else _plain(metric)
    group = [(number, case) for number, case in group if metric.name in case.result.figures]
    ordered = sorted(group, key=lambda pair: _order(pair[1].case.settings[setting]))
    figures = [factor * fmean(metric.figure(run) for run in case.finished) for _, case in ordered]
    largest = max(figures, default=1.0) or 1.0
    sweep = f"{setting} of {subject}: {unit}"
    return [
        (
            number,
            sweep,
            series,
            foreign.line(show(case.case.settings[setting])),
            figure,
            format(figure, form),
            figure / largest,
        )
        for (number, case), figure in zip(ordered, figures, strict=True)
    ]


def _plain(metric: Metric) -> tuple[str, float, str]:
    return metric.unit if metric.cell else f"{metric.heading} ({metric.unit})", 1.0, metric.cell or ".3g"


def _order(value: Value) -> tuple[bool, float, str]:
    """The sort key of a value: numbers by size, then text."""
    is_number = isinstance(value, int | float)
    return (not is_number, float(value) if isinstance(value, int | float) else 0.0, str(value))


def _picture() -> Mapping[str, Any]:
    base = alt.Chart(look.ROWS).encode(
        x=alt.X("value:O", sort=None, title="value of the setting", axis=alt.Axis(labelAngle=0)), y=look.label("series")
    )
    squares = base.mark_rect().encode(
        color=alt.Color("share:Q", title="ratio to the largest", scale=alt.Scale(domain=[0, 1])),
        tooltip=look.hint(("case:N", "case"), ("value:N", "value"), ("figure:Q", "figure"), ("share:Q", "share")),
    )
    text = base.mark_text(fontWeight=600).encode(
        text="shown:N",
        color=alt.condition(alt.datum.share > 0.55, alt.value("#ffffff"), alt.value("#14202e")),
    )
    return look.specification(alt.layer(squares, text), alt.Step(34))
