"""Curves of runs over time: a line per run while they can be distinguished, then one small picture per framework."""

from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt

from pytest_dlbench.reporting.charts import look
from pytest_dlbench.reporting.charts.measured import Measured

MOST_TOGETHER = 4
"""Frameworks of one cell in one picture; of two dozen with three runs each nobody finds a line again."""
GREY = "#8290a3"


def is_crowded(cases: Sequence[Measured]) -> bool:
    """Whether a cell has too many frameworks for one picture."""
    found: dict[str, set[str]] = {}
    for case in cases:
        if case.trained:
            found.setdefault(case.cell, set()).add(case.case.framework)
    return any(len(frameworks) > MOST_TOGETHER for frameworks in found.values())


def together(cases: Sequence[Measured], x: alt.X, y: alt.Y, hint: Sequence[alt.Tooltip]) -> list[alt.Chart]:
    """A line per run, with a dot at every figure."""
    base = alt.Chart(look.ROWS).encode(x=x, y=y, color=look.framework(cases))
    lines = base.mark_line(strokeWidth=1.6).encode(detail=["run:N", "case:N"], order="step:Q")
    return [lines, base.mark_point(filled=True, size=40, opacity=0.8).encode(tooltip=list(hint))]


def apart(cases: Sequence[Measured], x: tuple[str, str, alt.Scale], y: tuple[str, str, alt.Scale]) -> Mapping[str, Any]:
    """One picture per framework: the band of its runs and their median, before the medians of all others in grey.

    ``x`` and ``y`` are a column, its title and its scale. The axes are the same in every picture.
    """
    # A logarithmic axis has more lines than fit.
    few = alt.Axis(tickCount=3, grid=False)
    across = alt.X("middle_x:Q", title=x[1], scale=x[2], axis=few)
    up = alt.Y("middle:Q", title=y[1], scale=y[2])
    medians: dict[str, Any] = {"middle_x": f"median({x[0]})", "middle": f"median({y[0]})"}
    ends: dict[str, Any] = {"low": f"min({y[0]})", "high": f"max({y[0]})"}
    groups: list[Any] = ["framework", "case", "step"]
    others = alt.Chart(look.ROWS).transform_aggregate(groupby=groups, **medians).encode(x=across, y=up)
    own = alt.Chart().transform_aggregate(groupby=groups, **medians, **ends).encode(x=across)
    colour = look.framework_of_row(cases)
    layers = alt.layer(
        others.mark_line(strokeWidth=0.7, color=GREY, opacity=0.35).encode(detail=["case:N"], order="step:Q"),
        own.mark_area(opacity=0.3).encode(
            y=alt.Y("low:Q", title=y[1], scale=y[2]), y2="high:Q", color=colour, detail=["case:N"]
        ),
        own.mark_line(strokeWidth=2).encode(
            y=up,
            color=colour,
            detail=["case:N"],
            order="step:Q",
            tooltip=look.hint(("framework:N", "framework"), ("middle_x:Q", x[1]), ("middle:Q", y[1])),
        ),
    )
    return look.multiples(layers, "framework")
