"""The time of each phase of a run."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from statistics import median
from typing import Any, cast

import altair as alt

from pytest_dlbench.judging.readings import evaluation_time
from pytest_dlbench.records import Run
from pytest_dlbench.reporting.charts import look
from pytest_dlbench.reporting.charts.chart import Chart, Nothing
from pytest_dlbench.reporting.charts.measured import Measured
from pytest_dlbench.reporting.figures import seconds as shown_seconds

NAME, TITLE = "phases", "Where the time goes"
LEAD = (
    "Seconds of each phase of a run, medians over the runs: importing the framework, building the network, the first"
    " step (or batch of inference), which includes compilation, the other steps, and the evaluation; the number is"
    " their sum."
)
COLUMNS = {"case": "case", "phase": "phase", "order": "order", "seconds": "seconds"}
PHASES = ("import", "build", "first step", "other steps", "evaluation")
# A bar longer than this many times the median leaves the others too short to read.
MOST_MEDIANS = 5


def chart(cases: Sequence[Measured]) -> Chart | Nothing:
    """One bar per case, with the phases in order."""
    rows = []
    for number, case in enumerate(cases):
        seconds = [dict(_seconds(run)) for run in case.finished]
        for order, phase in enumerate(PHASES):
            if known := [of_run[phase] for of_run in seconds if phase in of_run]:
                rows.append((number, phase, order, median(known)))
    if not rows:
        return Nothing(name=NAME, title=TITLE, because="no run finished")
    return Chart(
        name=NAME, title=TITLE, lead=LEAD, columns=COLUMNS, rows=tuple(rows), picture=picture(PHASES), limit="case"
    )


def without_longest(chart: Chart, cases: Sequence[Measured]) -> tuple[Chart, str]:
    """The same without bars so long that the others could not be read, and a note that names them, or an empty one."""
    totals: dict[int, float] = {}
    for number, _, _, seconds in cast("Any", chart.rows):
        totals[number] = totals.get(number, 0.0) + seconds
    middle = median(totals.values())
    longest = {number: total for number, total in totals.items() if total > MOST_MEDIANS * middle}
    if not longest:
        return chart, ""
    names = ", ".join(f"{cases[number].label} ({shown_seconds(total)})" for number, total in longest.items())
    of_median = f"{MOST_MEDIANS} times the median of {shown_seconds(middle)}"
    note = f"Not shown, because longer than {of_median}: {names}."
    rows = tuple(row for row in chart.rows if row[0] not in longest)
    return replace(chart, rows=rows, notes=(*chart.notes, note)), note


def _seconds(run: Run) -> Iterator[tuple[str, float]]:
    if run.import_seconds is not None:
        yield "import", run.import_seconds
    if run.build_seconds is not None:
        yield "build", run.build_seconds
    if run.training:
        yield "first step", run.training.step_seconds[0]
        yield "other steps", sum(run.training.step_seconds[1:])
    if run.inference:
        yield "first step", run.inference.batch_seconds[0]
        yield "other steps", sum(run.inference.batch_seconds[1:])
    if seconds := evaluation_time(run):
        yield "evaluation", seconds


def picture(names: Sequence[str]) -> Mapping[str, Any]:
    """A bar for each case, of the seconds of these phases one after the other."""
    base = alt.Chart(look.ROWS)
    bars = base.mark_bar(height={"band": 0.7}).encode(
        y=look.label("case"),
        x=alt.X("seconds:Q", title="seconds"),
        color=alt.Color("phase:N", title=None, sort=list(names), scale=alt.Scale(domain=list(names))),
        order="order:Q",
        tooltip=look.hint(("case:N", "case"), ("phase:N", "phase"), ("seconds:Q", "seconds")),
    )
    total = base.mark_text(align="left", dx=5).encode(
        y=look.label("case"), x=alt.X("sum(seconds):Q", stack=False), text=alt.Text("sum(seconds):Q", format=",.3~r")
    )
    # The longest bar leaves room for its number.
    room = (
        base.transform_aggregate(total="sum(seconds)", groupby=["case"])
        .transform_calculate(room="datum.total * 1.07")
        .mark_point(opacity=0)
        .encode(y=look.label("case"), x="room:Q")
    )
    return look.specification(alt.layer(bars, total, room), alt.Step(look.NARROW_ROW))
