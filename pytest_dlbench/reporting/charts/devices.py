"""How much faster other devices are."""

from collections.abc import Iterator, Mapping, Sequence
from statistics import median
from typing import Any

import altair as alt

from pytest_dlbench.judging import METRICS
from pytest_dlbench.judging.intervals import Interval
from pytest_dlbench.reporting.charts import look
from pytest_dlbench.reporting.charts.chart import Chart, Nothing, Row
from pytest_dlbench.reporting.charts.frameworks import ratio, step_seconds
from pytest_dlbench.reporting.charts.measured import Measured

NAME, TITLE = "devices", "Scaling with devices"
LEAD = (
    "Speed-up of a step over the first device (the CPU, if it was measured) of the same framework, network, data and"
    " session, with 90 % intervals, which for a single run assume the typical spread; or samples per second, median"
    " and range of the runs. Each case was trained on one device: this compares devices, and says nothing about"
    " several together."
)
COLUMNS = {
    "case": "case",
    "shown": "shown",
    "value": "value",
    "lower": "from",
    "upper": "to",
    "first": "first device",
    "step_ms": "step, 10 % quantile (ms)",
    "runs": "runs",
}
SPEEDUP, THROUGHPUT = "speed-up", "samples/s"
CPU = "cpu"


def chart(cases: Sequence[Measured]) -> Chart | Nothing:
    """Speed-up and throughput on each device; one of them, of one job, at a time."""
    found: dict[tuple[str, ...], list[tuple[int, Measured]]] = {}
    for number, case in enumerate(cases):
        if case.sound:
            digests = (case.context.network_digest, case.context.dataset_digest, case.context.precision)
            found.setdefault((case.session, case.job, case.case.framework, *digests), []).append((number, case))
    rows = tuple(row for group in found.values() for row in _rows(group))
    if not rows:
        because = "no framework trained one cell on two devices; --dlbench-devices cpu,gpu does if both are available"
        return Nothing(name=NAME, title=TITLE, because=because)
    return Chart(name=NAME, title=TITLE, lead=LEAD, columns=COLUMNS, rows=rows, picture=_picture(cases), choose="shown")


def _rows(group: Sequence[tuple[int, Measured]]) -> Iterator[Row]:
    ordered = sorted(group, key=lambda pair: _place(pair[1].case.device))
    first = ordered[0][1]
    if first.case.device == ordered[-1][1].case.device:
        return
    for number, case in ordered:
        slower = ratio(case, first) if case is not first else Interval(estimate=1.0, lower=1.0, upper=1.0)
        rates = METRICS["throughput"].values(case.sound)
        shared = (first.case.device, 1e3 * median(step_seconds(case)), len(case.sound))
        yield (number, f"{case.job}: {SPEEDUP}", 1 / slower.estimate, 1 / slower.upper, 1 / slower.lower, *shared)
        if rates:
            yield (number, f"{case.job}: {THROUGHPUT}", median(rates), min(rates), max(rates), *shared)


def _place(device: str) -> tuple[bool, int, str]:
    """The CPU first, ``gpu:2`` before ``gpu:10``."""
    return device != CPU, len(device), device


def _picture(cases: Sequence[Measured]) -> Mapping[str, Any]:
    scale = alt.Scale(type="log", nice=False, padding=20)
    base = alt.Chart(look.ROWS).encode(
        x=alt.X("device:N", title=None, sort=None, axis=alt.Axis(labelAngle=0)),
        xOffset=alt.XOffset("framework:N", sort="ascending"),
        color=look.framework(cases),
    )
    line = base.mark_rule(strokeWidth=2).encode(y=alt.Y("lower:Q", title=None, scale=scale), y2="upper:Q")
    dot = base.mark_point(size=75, filled=True, opacity=1).encode(
        y=alt.Y("value:Q", title=None, scale=scale),
        tooltip=look.hint(("case:N", "case"), ("value:Q", "value"), ("lower:Q", "from"), ("upper:Q", "to")),
    )
    return look.specification(alt.layer(line, dot), look.HEIGHT)
