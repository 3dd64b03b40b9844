"""Frameworks side by side: the time of a step relative to the fastest."""

from collections.abc import Iterator, Mapping, Sequence
from statistics import median
from typing import Any

import altair as alt

from pytest_dlbench.judging import METRICS, Metric
from pytest_dlbench.judging.frameworks import of_runs
from pytest_dlbench.judging.intervals import Interval
from pytest_dlbench.reporting.charts import look
from pytest_dlbench.reporting.charts.chart import Chart, Nothing, Row
from pytest_dlbench.reporting.charts.measured import Measured

NAME, TITLE = "frameworks", "Frameworks side by side"
LEAD = (
    "Time of a step, of a batch of inference, or of an operator's forward pass, relative to the fastest framework for"
    " the same cell, network, data and session; lines are 90 % intervals. A framework whose interval includes 1 is not"
    " shown to be slower. Diamonds mark frameworks that are not certified to train the same network. Between the two"
    " sides of pairs, it is what the pairs found."
)
COLUMNS = {
    "case": "case",
    "ratio": "time of a step / that of the fastest",
    "lower": "from",
    "upper": "to",
    "step_ms": "step, 10 % quantile (ms)",
    "throughput": "samples/s",
    "runs": "runs",
    "quickest": "the fastest",
    "equality": "equality with the oracle",
}
# The metric that judges the time of a case, by its purpose.
TIMES = {metric.purpose: metric for metric in METRICS.values() if metric.timed}
CERTIFIED, NOT_CERTIFIED = "certified equal", "not certified"


def chart(cases: Sequence[Measured]) -> Chart | Nothing:
    """Ratios with their intervals, one row per case, the fastest of each cell first."""
    rows = [row for group in groups(cases) for row in _rows(group, cases)]
    if not rows:
        because = "no two frameworks ran the same network on the same data in one session with valid runs"
        return Nothing(name=NAME, title=TITLE, because=because)
    return Chart(
        name=NAME, title=TITLE, lead=LEAD, columns=COLUMNS, rows=tuple(rows), picture=_picture(cases), limit="case"
    )


def groups(cases: Sequence[Measured]) -> Iterator[list[tuple[int, Measured]]]:
    """Groups of cases that differ only in their framework, at least two each; every case with its number."""
    found: dict[tuple[str, ...], list[tuple[int, Measured]]] = {}
    for number, case in enumerate(cases):
        if case.sound:
            digests = (case.context.network_digest, case.context.dataset_digest, case.context.precision)
            found.setdefault((case.session, case.cell, *digests), []).append((number, case))
    return (group for group in found.values() if len({case.case.framework for _, case in group}) > 1)


def step_seconds(case: Measured) -> list[float]:
    """The judged time of a step, or of a batch of inference, in every valid run."""
    return [judged_metric(case).figure(run) for run in case.sound]


def judged_metric(case: Measured) -> Metric:
    """The metric that judges its time."""
    return TIMES[case.sound[0].purpose]


def ratio(case: Measured, to: Measured) -> Interval:
    """The time of a step over that of another case of the same session; of two sides, what their pairs found."""
    metric = judged_metric(case)
    if paired := _in_pairs(case, to, metric) or _inverse(_in_pairs(to, case, metric)):
        return paired
    return of_runs(metric, step_seconds(case), step_seconds(to))


def _in_pairs(case: Measured, to: Measured, metric: Metric) -> Interval | None:
    """The change of a candidate from its baseline, if that is what the two are."""
    if not (to.is_baseline and case.is_pair_of(to)):
        return None
    found = next((verdict for verdict in case.result.verdicts if verdict.metric == metric.name), None)
    if found is None or found.change is None or found.lower is None or found.upper is None:
        return None
    return Interval(estimate=found.change, lower=found.lower, upper=found.upper)


def _inverse(found: Interval | None) -> Interval | None:
    return found and Interval(estimate=1 / found.estimate, lower=1 / found.upper, upper=1 / found.lower)


def ranked(group: Sequence[tuple[int, Measured]]) -> list[tuple[int, Measured]]:
    """The same with the fastest first."""
    return sorted(group, key=lambda pair: median(step_seconds(pair[1])))


def _rows(group: Sequence[tuple[int, Measured]], cases: Sequence[Measured]) -> Iterator[Row]:
    ordered = ranked(group)
    fastest = cases[ordered[0][0]]
    for number, case in ordered:
        # A case relative to itself needs no estimate.
        found = ratio(case, fastest) if case is not fastest else Interval(estimate=1.0, lower=1.0, upper=1.0)
        figures = (1e3 * median(step_seconds(case)), case.result.figures.get("throughput"))
        equality = CERTIFIED if case.result.certificate else NOT_CERTIFIED
        others = (len(case.sound), fastest.case.framework, equality)
        yield (number, found.estimate, found.lower, found.upper, *figures, *others)


def _picture(cases: Sequence[Measured]) -> Mapping[str, Any]:
    # Rows have names, because two dozen frameworks cannot be distinguished by colour.
    base = alt.Chart(look.ROWS).encode(y=look.label("case"), color=look.framework_of_row(cases))
    title, scale = "time of a step / that of the fastest", alt.Scale(type="log", nice=False, padding=12)
    line = base.mark_rule(strokeWidth=2).encode(x=alt.X("lower:Q", title=title, scale=scale), x2="upper:Q")
    hint = look.hint(
        ("case:N", "case"),
        ("ratio:Q", "ratio"),
        ("lower:Q", "from"),
        ("upper:Q", "to"),
        ("throughput:Q", "samples/s"),
        ("equality:N", "equality"),
    )
    shapes = alt.Scale(domain=[CERTIFIED, NOT_CERTIFIED], range=["circle", "diamond"])
    dot = base.mark_point(size=75, filled=True, opacity=1).encode(
        x=alt.X("ratio:Q", title=title, scale=scale),
        shape=alt.Shape("equality:N", title=None, scale=shapes),
        tooltip=hint,
    )
    return look.specification(alt.layer(line, dot), alt.Step(look.NARROW_ROW))
