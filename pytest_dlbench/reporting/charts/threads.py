"""How much faster more threads are."""

from collections.abc import Mapping, Sequence
from statistics import median
from typing import Any

import altair as alt

from pytest_dlbench.reporting.charts import look
from pytest_dlbench.reporting.charts.chart import Chart, Nothing, Row
from pytest_dlbench.reporting.charts.frameworks import step_seconds
from pytest_dlbench.reporting.charts.measured import Measured

NAME, TITLE = "threads", "Scaling with threads"
LEAD = (
    "Speed-up over the fewest threads of the same framework and session, one dot per run. The dashed line is perfect"
    " scaling."
)
COLUMNS = {
    "case": "case",
    "workload": "workload",
    "threads": "threads",
    "speedup": "speed-up",
    "ideal": "perfect scaling",
    "step_ms": "step, 10 % quantile (ms)",
    "run": "run",
}


def chart(cases: Sequence[Measured]) -> Chart | Nothing:
    """Speed-up against the number of threads; one workload at a time."""
    found: dict[tuple[str, ...], list[tuple[int, Measured]]] = {}
    for number, case in enumerate(cases):
        if case.sound:
            found.setdefault((case.session, case.workload, case.case.framework), []).append((number, case))
    rows = tuple(row for group in found.values() for row in _rows(group))
    if not rows:
        because = "no framework trained the same cell with different numbers of threads; --dlbench-threads 1,2,4 does"
        return Nothing(name=NAME, title=TITLE, because=because)
    return Chart(
        name=NAME, title=TITLE, lead=LEAD, columns=COLUMNS, rows=rows, picture=_picture(cases), choose="workload"
    )


def _rows(group: Sequence[tuple[int, Measured]]) -> list[Row]:
    ordered = sorted(group, key=lambda pair: pair[1].case.threads)
    fewest = ordered[0][1]
    if fewest.case.threads == ordered[-1][1].case.threads:
        return []
    base = median(step_seconds(fewest))
    return [
        (number, case.workload, count, base / seconds, count / fewest.case.threads, 1e3 * seconds, run)
        for number, case in ordered
        for count in (case.case.threads,)
        for run, seconds in enumerate(step_seconds(case), start=1)
    ]


def _picture(cases: Sequence[Measured]) -> Mapping[str, Any]:
    base = alt.Chart(look.ROWS)
    # Threads are whole numbers.
    counts = sorted({case.case.threads for case in cases})
    axis = alt.Axis(values=counts, format="d")
    x = alt.X("threads:Q", title="threads", axis=axis, scale=alt.Scale(type="log", base=2, nice=False, padding=20))
    y = alt.Y("speedup:Q", title="speed-up", scale=alt.Scale(type="log", base=2, nice=False, padding=20))
    ideal = base.mark_line(strokeDash=[5, 4], color="#8290a3").encode(
        x=x, y=alt.Y("ideal:Q", title="speed-up", aggregate="mean")
    )
    line = base.mark_line(strokeWidth=1.8).encode(
        x=x, y=alt.Y("speedup:Q", aggregate="median", title="speed-up"), color=look.framework(cases)
    )
    dots = base.mark_point(filled=True, size=45).encode(
        x=x,
        y=y,
        color=look.framework(cases),
        tooltip=look.hint(("case:N", "case"), ("run:O", "run"), ("speedup:Q", "speed-up"), ("step_ms:Q", "ms")),
    )
    return look.specification(alt.layer(ideal, line, dots), look.HEIGHT)
