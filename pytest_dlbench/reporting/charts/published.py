"""Our results next to those of published studies: ratios between frameworks, never seconds."""

from collections.abc import Iterator, Mapping, Sequence
from math import log
from typing import Any

import altair as alt

from pytest_dlbench.judging.intervals import Interval
from pytest_dlbench.reporting.charts import look
from pytest_dlbench.reporting.charts.chart import Chart, Nothing, Row, distinct
from pytest_dlbench.reporting.charts.frameworks import groups, ratio
from pytest_dlbench.reporting.charts.measured import Measured
from pytest_dlbench.reporting.published.comparison import Cell, Comparison, Held, cells, compare, summary

NAME, TITLE = "published", "Compared with published results"
LEAD = (
    "Time of a framework over that of the fastest one in a published study: the diamond is the study's ratio, the dot"
    " ours with its 90 % interval. The published order held if our interval is entirely above 1, and did not if it is"
    " below; machines and versions differ, so seconds are not compared."
)
COLUMNS = {
    "source": "study",
    "model": "model",
    "pair": "frameworks",
    "framework": "framework",
    "device": "device",
    "condition": "published for",
    "ours_on": "our cell",
    "then": "published ratio",
    "now": "our ratio",
    "lower": "from",
    "upper": "to",
    "rank_then": "published rank",
    "rank_now": "our rank",
    "of": "of",
    "held": "order",
    "row": "row",
    "flaws": "known flaws of the published cell",
}
ANSWERS = (Held.NO, Held.UNDECIDED, Held.YES)


def comparisons(cases: Sequence[Measured]) -> Iterator[tuple[Measured, Comparison]]:
    """Every published cell that we can compare, with the case that names our side."""
    alike: dict[tuple[str, str], list[dict[str, Measured]]] = {}
    for group in groups(cases):
        members = {case.case.framework: case for _, case in group}
        first = next(iter(members.values()))
        alike.setdefault((first.session, first.workload), []).append(members)
    for cell in cells():
        for several in alike.values():
            members = min(several, key=lambda one: _distance(cell, one))
            first = next(iter(members.values()))
            if _is_of(cell, first):
                yield from ((first, found) for found in compare(cell, _ratios(members)))


def _distance(cell: Cell, members: Mapping[str, Measured]) -> float:
    """How far our threads are from the published ones; if those are unknown, more threads are nearer."""
    threads = next(iter(members.values())).case.threads
    return -threads if cell.threads is None else abs(log(threads / cell.threads))


def chart(cases: Sequence[Measured]) -> Chart | Nothing:
    """Pairs of frameworks, orders that did not hold first; one model at a time."""
    found = sorted(comparisons(cases), key=lambda pair: ANSWERS.index(pair[1].held))
    if not found:
        because = "no study has figures of a model, two frameworks and a kind of device in this report"
        return Nothing(name=NAME, title=TITLE, because=because)
    shown = [comparison for _, comparison in found]
    return Chart(
        name=NAME,
        title=TITLE,
        lead=LEAD,
        columns=COLUMNS,
        rows=tuple(_row(case, comparison) for case, comparison in found),
        notes=(summary(shown), *_flaws(shown)),
        picture=_picture(),
        choose="model",
        limit="row",
    )


def _is_of(cell: Cell, case: Measured) -> bool:
    return case.case.model == cell.model and case.case.device == ("gpu" if cell.is_gpu else "cpu")


def _ratios(members: Mapping[str, Measured]) -> dict[str, dict[str, Interval]]:
    return {name: {other: ratio(case, members[other]) for other in members} for name, case in members.items()}


def _row(case: Measured, found: Comparison) -> Row:
    cell, pair = found.cell, f"{found.ours[0]} / {found.ours[1]}"
    return (
        cell.source,
        case.case.model,
        pair,
        found.ours[0],
        case.case.device,
        cell.condition,
        case.cell,
        found.then,
        found.now.estimate,
        found.now.lower,
        found.now.upper,
        found.rank_then,
        found.rank_now,
        found.of,
        found.held.value,
        f"{pair} · {cell.place}",
        "; ".join(found.flaws),
    )


def _flaws(shown: Sequence[Comparison]) -> list[str]:
    """Every known flaw of the cells shown, with study and model."""
    found = distinct(f"{one.cell.source}, {one.cell.model}: {flaw}" for one in shown for flaw in one.flaws)
    return [str(flaw) for flaw in found]


def _picture() -> Mapping[str, Any]:
    base = alt.Chart(look.ROWS).encode(y=look.label("row"))
    title, scale = "time / that of the published fastest", alt.Scale(type="log", nice=False, padding=14)
    colour = alt.Color(
        "held:N", title="order", scale=alt.Scale(domain=list(ANSWERS), range=["#d1495b", "#8290a3", "#2a9d8f"])
    )
    one = alt.Chart(alt.InlineData(values=[{"one": 1}])).mark_rule(strokeDash=[5, 4], color="#8290a3").encode(x="one:Q")
    line = base.mark_rule(strokeWidth=2).encode(
        x=alt.X("lower:Q", title=title, scale=scale), x2="upper:Q", color=colour
    )
    hint = look.hint(
        ("pair:N", "frameworks"),
        ("condition:N", "published for"),
        ("then:Q", "published ratio"),
        ("now:Q", "our ratio"),
        ("held:N", "order"),
    )
    ours = base.mark_point(filled=True, size=60, opacity=1).encode(
        x=alt.X("now:Q", title=title, scale=scale), color=colour, tooltip=hint
    )
    theirs = base.mark_point(shape="diamond", size=80, strokeWidth=1.8).encode(
        x=alt.X("then:Q", title=title, scale=scale), color=colour, tooltip=hint
    )
    return look.specification(alt.layer(one, line, ours, theirs), alt.Step(look.NARROW_ROW))
