"""The figures of a case, session by session, and where they changed."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Any

import altair as alt

from pytest_dlbench import judging
from pytest_dlbench.judging import METRICS, Metric, Metrics
from pytest_dlbench.judging.comparable import CUSUM_REFERENCE
from pytest_dlbench.judging.equivalence import of_framework
from pytest_dlbench.judging.scales import badness
from pytest_dlbench.judging.sessions import drift
from pytest_dlbench.reporting import explain, foreign
from pytest_dlbench.reporting.charts import look
from pytest_dlbench.reporting.charts.chart import Chart, Nothing, Row
from pytest_dlbench.reporting.charts.measured import Measured

NAME, TITLE = "history", "History"
LEAD = (
    "Medians of the sessions of one case on one machine class, oldest first. Drift is an alarm of a clipped CUSUM of"
    f" worse sessions, the change point is where that sum began; the first {CUSUM_REFERENCE} sessions are its"
    " reference. Changes of the framework's versions are marked at their session."
)
COLUMNS = {
    "case": "case",
    "series": "case and metric",
    "began": "session began (UTC)",
    "figure": "median of the session",
    "said": "remark",
    "changed": "versions that changed",
    "runs": "runs",
}
USUAL, VERSIONS, DRIFT, CHANGE = "as usual", "versions changed", "drift", "change point"
COLOURS = {USUAL: "#8290a3", VERSIONS: "#4c78a8", DRIFT: "#d98f1e", CHANGE: "#d1495b"}
SHOWN = {"s": ("ms", 1e3), "bytes": ("MiB", 2**-20), "share": ("%", 1e2)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Past:
    """One session of a case: medians over its valid runs. ``conditions`` must be equal for figures to be comparable."""

    case: str
    machine: str
    began: str
    runs: int
    figures: Mapping[str, float]
    versions: Mapping[str, str]
    conditions: tuple[str | int | None, ...]


def chart(cases: Sequence[Measured], past: Iterable[Past] = (), metrics: Metrics = METRICS) -> Chart | Nothing:
    """Every judged metric of every case in the report that several sessions measured, including those of a history."""
    newest = {case.case.id: number for number, case in enumerate(cases)}
    found: dict[tuple[Any, ...], dict[str, Past]] = {}
    for one in (*past, *(_of_case(case) for case in cases if case.sound)):
        if one.case in newest:
            # A session that is in both is recognized by its start.
            found.setdefault((one.case, one.machine, one.conditions), {})[one.began] = one
    rows = tuple(
        row
        for (case, machine, _), sessions in found.items()
        for row in _rows(newest[case], machine, [sessions[began] for began in sorted(sessions)], metrics)
    )
    if not rows:
        because = "no case was measured in two sessions; --history ADDRESS adds those of a history"
        return Nothing(name=NAME, title=TITLE, because=because)
    return Chart(name=NAME, title=TITLE, lead=LEAD, columns=COLUMNS, rows=rows, picture=_picture(), choose="series")


def _of_case(case: Measured) -> Past:
    context = case.context
    return Past(
        case=case.case.id,
        machine=context.machine.name,
        began=min(run.began for run in case.sound),
        runs=len(case.sound),
        figures=judging.summarise(case.sound),
        versions=of_framework(case.sound[0].versions),
        conditions=(
            context.network_digest,
            context.dataset_digest,
            context.steps,
            context.batch_size,
            context.precision,
        ),
    )


def _rows(number: int, machine: str, sessions: Sequence[Past], metrics: Metrics) -> Iterator[Row]:
    for metric in metrics.values() if len(sessions) > 1 else ():
        having = [one for one in sessions if isfinite(_badness(metric, one))]
        if metric.tolerance is not None and having:
            yield from _of_metric(number, metric, machine, having)


def _badness(metric: Metric, one: Past) -> float:
    return badness(metric, one.figures.get(metric.name, float("nan")))


def _of_metric(number: int, metric: Metric, machine: str, sessions: Sequence[Past]) -> Iterator[Row]:
    found = drift([_badness(metric, one) for one in sessions])
    unit, factor = SHOWN.get(metric.unit, (metric.unit, 1.0))
    before: Mapping[str, str] = sessions[0].versions
    for place, one in enumerate(sessions):
        changed = ", ".join(map(explain.difference, judging.changes(before, one.versions)))
        before = one.versions
        said = DRIFT if place in found.alarms else VERSIONS if changed else USUAL
        said = CHANGE if place in found.changes else said
        series = foreign.line(f"{one.case} on {machine}: {metric.name} ({unit})")
        yield (number, series, one.began, factor * one.figures[metric.name], said, foreign.line(changed), one.runs)


def _picture() -> Mapping[str, Any]:
    base = alt.Chart(look.ROWS).encode(
        x=alt.X("began:T", title="session began"),
        y=alt.Y("figure:Q", title="median of the session", scale=alt.Scale(zero=False, padding=12)),
    )
    line = base.mark_line(strokeWidth=1.2, color="#8290a3")
    domain = list(COLOURS)
    dots = base.mark_point(filled=True, size=50, opacity=1).encode(
        color=alt.Color("said:N", title=None, scale=alt.Scale(domain=domain, range=list(COLOURS.values()))),
        shape=alt.Shape("said:N", title=None, scale=alt.Scale(domain=domain)),
        tooltip=look.hint(
            ("began:T", "began"),
            ("figure:Q", "figure"),
            ("said:N", "said"),
            ("changed:N", "versions"),
            ("runs:Q", "runs"),
        ),
    )
    return look.specification(alt.layer(line, dots), look.HEIGHT)
