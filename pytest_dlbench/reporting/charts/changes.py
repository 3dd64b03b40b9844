"""Every metric that was compared, with a baseline or between two sides, with the interval of its change."""

from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt

from pytest_dlbench.judging import METRICS, Metric, Metrics
from pytest_dlbench.records import Verdict, VerdictOutcome
from pytest_dlbench.reporting import figures
from pytest_dlbench.reporting.charts import look
from pytest_dlbench.reporting.charts.chart import Chart, Nothing, Row
from pytest_dlbench.reporting.charts.measured import Measured

NAME, TITLE, TITLE_OF_PAIRS = "changes", "Changes from the baseline", "Changes between the two sides"
LEAD = (
    "All metrics of all cases. Each line is the interval of a change, the dot its estimate, the grey band the"
    " tolerance. A regression is entirely outside the band, on the worse side; an interval that crosses the edge of the"
    " band is inconclusive."
)
COLUMNS = {
    "case": "case",
    "row": "case and metric",
    "metric": "metric",
    "verdict": "verdict",
    "old": "before",
    "new": "now",
    "change": "change",
    "lower": "from",
    "upper": "to",
    "worse": "tolerance, slower",
    "better": "tolerance, faster",
}
ORDER = (
    VerdictOutcome.REGRESSED,
    VerdictOutcome.SUSPECT,
    VerdictOutcome.INCONCLUSIVE,
    VerdictOutcome.IMPROVED,
    VerdictOutcome.EQUIVALENT,
)
COLOURS = ("#d1495b", "#b5438f", "#d98f1e", "#2a9d8f", "#8290a3")


def chart(cases: Sequence[Measured], metrics: Metrics = METRICS) -> Chart | Nothing:
    """A forest plot, regressions first."""
    verdicts = [(number, verdict) for number, case in enumerate(cases) for verdict in case.result.verdicts]
    # What is judged alone, such as a leak, has not changed from anything.
    found = [(at, one) for at, one in verdicts if one.metric in metrics and not metrics[one.metric].is_absolute]
    unknown = dict.fromkeys(verdict.metric for _, verdict in verdicts if verdict.metric not in metrics)
    if not found:
        because = "no case was compared with a baseline; --dlbench-save --dlbench-reason TEXT saves one"
        return Nothing(name=NAME, title=TITLE, because=because)
    found.sort(key=lambda pair: (ORDER.index(pair[1].outcome), pair[0]))
    compared = {number for number, _ in found}
    names = {number: cases[number].label for number in compared} if len(compared) > 1 else {}
    drawn = {verdict.metric: metrics[verdict.metric] for _, verdict in found}
    labels = [_label(names.get(number, ""), verdict, drawn) for number, verdict in found]
    rows = tuple(_row(at, label, verdict, drawn) for (at, verdict), label in zip(found, labels, strict=True))
    what = _what([*drawn.values()])
    return Chart(
        name=NAME,
        title=TITLE_OF_PAIRS if all(cases[number].result.pairing for number in compared) else TITLE,
        lead=LEAD,
        columns={**COLUMNS, "change": what},
        rows=rows,
        # Only its hook knows whether its changes are ratios or points.
        notes=tuple(f"{name} is not drawn, because its hook is not installed." for name in unknown),
        picture=_picture(what),
        limit="row",
    )


def _what(drawn: Sequence[Metric]) -> str:
    """What the axis shows: of a single metric its change, of several all of theirs, each in its unit."""
    units = {"points": "pp", "ratio": "%"}
    if len(drawn) == 1:
        return f"change of the {figures.subject(drawn[0])} ({units[drawn[0].kind]})"
    kinds = {metric.kind for metric in drawn}
    return f"change ({units[kinds.pop()]})" if len(kinds) == 1 else "change (%, or pp of accuracy)"


def _row(number: int, label: str, verdict: Verdict, metrics: Metrics) -> Row:
    what = (number, label, verdict.metric, verdict.outcome.value, verdict.old, verdict.new)
    change, lower, upper, tolerance = verdict.change, verdict.lower, verdict.upper, verdict.tolerance
    if metrics[verdict.metric].kind == "points":
        return (*what, change, lower, upper, tolerance, -tolerance)
    return (*what, *(_percent(ratio) for ratio in (change, lower, upper, 1 + tolerance, 1 / (1 + tolerance))))


def _label(name: str, verdict: Verdict, drawn: Metrics) -> str:
    """What a row is: its case if there are several, else its figures; with its metric if there are several."""
    heading = drawn[verdict.metric].heading if len(drawn) > 1 else ""
    if name:
        return f"{name} · {heading}" if heading else name
    old, new = (figures.side(verdict.metric, value, drawn) for value in (verdict.old, verdict.new))
    return f"{heading}: {old} → {new}" if heading else f"{old} → {new}"


def _percent(ratio: float | None) -> float | None:
    return None if ratio is None else 100 * (ratio - 1)


def _picture(span: str) -> Mapping[str, Any]:
    colour = alt.Color("verdict:N", title=None, scale=alt.Scale(domain=[o.value for o in ORDER], range=list(COLOURS)))
    base = alt.Chart(look.ROWS).encode(y=look.label("row"))
    band = base.mark_bar(opacity=0.18, color="#8290a3").encode(x=alt.X("better:Q", title=span), x2="worse:Q")
    line = base.mark_rule(strokeWidth=2).encode(x=alt.X("lower:Q", title=span), x2="upper:Q", color=colour)
    dot = base.mark_point(filled=True, size=70, opacity=1).encode(
        x=alt.X("change:Q", title=span),
        color=colour,
        shape=alt.Shape("verdict:N", title=None, scale=alt.Scale(domain=[o.value for o in ORDER])),
        tooltip=look.hint(
            ("case:N", "case"),
            ("metric:N", "metric"),
            ("verdict:N", "verdict"),
            ("old:Q", "before"),
            ("new:Q", "now"),
            ("change:Q", "change"),
            ("lower:Q", "from"),
            ("upper:Q", "to"),
        ),
    )
    return look.specification(alt.layer(band, line, dot), alt.Step(look.WIDE_ROW))
