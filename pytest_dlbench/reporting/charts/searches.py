"""Searches: the best validation accuracy until each moment, over the seeds."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import altair as alt

from pytest_dlbench.judging.intervals import Interval
from pytest_dlbench.judging.searches import best_until, over_seeds
from pytest_dlbench.records import Search
from pytest_dlbench.reporting.charts import look
from pytest_dlbench.reporting.charts.chart import Chart, Nothing, Row
from pytest_dlbench.reporting.charts.measured import Measured

NAME, TITLE = "searches", "Best validation accuracy of searches"
LEAD = (
    "The best validation accuracy of all trials so far, against the processor time of all trials so far: the mean over"
    " the seeds, with its 95 % interval, from when each of them has one. Up and to the left is better."
)
COLUMNS = {
    "case": "case",
    "cpu_seconds": "processor time (s)",
    "wall_seconds": "time (s)",
    "accuracy": "best validation accuracy (%)",
    "lower": "from (%)",
    "upper": "to (%)",
    "seeds": "seeds",
}


def chart(cases: Sequence[Measured]) -> Chart | Nothing:
    """Every case that searched."""
    rows = tuple(row for number, case in enumerate(cases) for row in _rows(number, case))
    if not rows:
        return Nothing(name=NAME, title=TITLE, because="no search found a network")
    return Chart(name=NAME, title=TITLE, lead=LEAD, columns=COLUMNS, rows=rows, picture=_drawn())


def _rows(number: int, case: Measured) -> Iterator[Row]:
    searches = [run.search for run in case.searched if run.search and run.search.curve]
    for cpu in _moments(searches):
        points = [best_until(search, cpu) for search in searches]
        found = over_seeds([100 * point.accuracy for point in points if point])
        wall = sum(point.wall_seconds for point in points if point) / len(points)
        yield (number, cpu, wall, *_shown(found), len(searches))


def _shown(found: Interval) -> tuple[float, float, float]:
    """Estimate and bounds; no accuracy is below 0 or above 100 %."""
    return (found.estimate, max(0.0, found.lower), min(100.0, found.upper))


def _moments(searches: Sequence[Search]) -> list[float]:
    """When the best of some search changed or its last trial ended, from when all have one."""
    ends = {search.trials[-1].cpu_total for search in searches}
    changes = {point.cpu_seconds for search in searches for point in search.curve}
    first = max((search.curve[0].cpu_seconds for search in searches), default=0.0)
    return sorted(moment for moment in ends | changes if moment >= first)


def _drawn() -> Mapping[str, Any]:
    base = alt.Chart(look.ROWS).encode(
        x=alt.X("cpu_seconds:Q", title="seconds of processor time"),
        color=alt.Color("case:N", title=None, legend=alt.Legend(orient="bottom", labelLimit=420, columns=1)),
    )
    scale, title = look.share(), "best validation accuracy (%)"
    band = base.mark_area(opacity=0.2, interpolate="step-after").encode(
        y=alt.Y("lower:Q", title=title, scale=scale), y2="upper:Q"
    )
    line = base.mark_line(strokeWidth=2, interpolate="step-after").encode(
        y=alt.Y("accuracy:Q", title=title, scale=scale)
    )
    points = base.mark_point(filled=True, size=40).encode(
        y=alt.Y("accuracy:Q", title=title, scale=scale),
        tooltip=look.hint(
            ("case:N", "case"),
            ("cpu_seconds:Q", "processor time (s)"),
            ("wall_seconds:Q", "time (s)"),
            ("accuracy:Q", title),
            ("lower:Q", "from (%)"),
            ("upper:Q", "to (%)"),
            ("seeds:O", "seeds"),
        ),
    )
    return look.specification(alt.layer(band, line, points), look.HEIGHT)
