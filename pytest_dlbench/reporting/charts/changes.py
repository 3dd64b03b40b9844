"""Every metric that was compared with a baseline, with the interval of its change."""

from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt

from pytest_dlbench.judging import METRICS, Metrics
from pytest_dlbench.records import Verdict, VerdictOutcome
from pytest_dlbench.reporting.charts import look
from pytest_dlbench.reporting.charts.chart import Chart, Nothing, Row
from pytest_dlbench.reporting.charts.measured import Measured

NAME, TITLE = "changes", "Changes from the baseline"
LEAD = (
    "Each line is the interval of a change, the dot its estimate, the grey band the tolerance. A regression is entirely"
    " outside the band, on the worse side; an interval that crosses the edge of the band is inconclusive."
)
COLUMNS = {
    "case": "case",
    "metric": "metric",
    "verdict": "verdict",
    "old": "baseline",
    "new": "now",
    "change": "change (%, or pp of accuracy)",
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
    found = [(number, verdict) for number, verdict in verdicts if verdict.metric in metrics]
    unknown = dict.fromkeys(verdict.metric for _, verdict in verdicts if verdict.metric not in metrics)
    if not found:
        because = "no case was compared with a baseline; --dlbench-save --dlbench-reason TEXT saves one"
        return Nothing(name=NAME, title=TITLE, because=because)
    found.sort(key=lambda pair: (ORDER.index(pair[1].outcome), pair[0]))
    rows = tuple(_row(number, verdict, metrics) for number, verdict in found)
    return Chart(
        name=NAME,
        title=TITLE,
        lead=LEAD,
        columns=COLUMNS,
        rows=rows,
        # Only its hook knows whether its changes are ratios or points.
        notes=tuple(f"{name} is not drawn, because its hook is not installed." for name in unknown),
        picture=_picture(),
        choose="metric",
        limit="case",
    )


def _row(number: int, verdict: Verdict, metrics: Metrics) -> Row:
    what = (number, verdict.metric, verdict.outcome.value, verdict.old, verdict.new)
    change, lower, upper, tolerance = verdict.change, verdict.lower, verdict.upper, verdict.tolerance
    if metrics[verdict.metric].kind == "points":
        return (*what, change, lower, upper, tolerance, -tolerance)
    return (*what, *(_percent(ratio) for ratio in (change, lower, upper, 1 + tolerance, 1 / (1 + tolerance))))


def _percent(ratio: float | None) -> float | None:
    return None if ratio is None else 100 * (ratio - 1)


def _picture() -> Mapping[str, Any]:
    colour = alt.Color("verdict:N", title=None, scale=alt.Scale(domain=[o.value for o in ORDER], range=list(COLOURS)))
    base = alt.Chart(look.ROWS).encode(y=look.label("case"))
    span = "change (%, or pp of accuracy)"
    band = base.mark_bar(opacity=0.18, color="#8290a3").encode(x=alt.X("better:Q", title=span), x2="worse:Q")
    line = base.mark_rule(strokeWidth=2).encode(x=alt.X("lower:Q", title=span), x2="upper:Q", color=colour)
    dot = base.mark_point(filled=True, size=70, opacity=1).encode(
        x=alt.X("change:Q", title=span),
        color=colour,
        shape=alt.Shape("verdict:N", title=None, scale=alt.Scale(domain=[o.value for o in ORDER])),
        tooltip=look.hint(
            ("case:N", "case"),
            ("verdict:N", "verdict"),
            ("change:Q", "change"),
            ("lower:Q", "from"),
            ("upper:Q", "to"),
        ),
    )
    return look.specification(alt.layer(band, line, dot), alt.Step(look.WIDE_ROW))
