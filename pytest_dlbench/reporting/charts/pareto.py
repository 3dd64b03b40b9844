"""What accuracy costs: time and memory, and which frameworks no other one beats in everything."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import altair as alt

from pytest_dlbench.reporting.charts import look
from pytest_dlbench.reporting.charts.chart import Chart, Nothing, Row
from pytest_dlbench.reporting.charts.measured import Measured

NAME, TITLE = "pareto", "What accuracy costs"
LEAD = (
    "Accuracy against the seconds of training, medians over the runs; larger signs need more memory. Filled signs are"
    " on the Pareto front: no framework of the same cell is at least as good in accuracy, time and memory and better in"
    " one. A line leads from each sign to its name."
)
COLUMNS = {
    "case": "case",
    "seconds": "training (s)",
    "accuracy": "accuracy (%)",
    "peak": "peak memory (MiB)",
    "front": "Pareto front",
}
ON, OFF = "on the front", "another is no worse in any, and better in one"
MIB = 2**20
# Names of 24 frameworks have a line each.
HEIGHT = 380
# Where signs and names are; and the least height of the column of names, in percentage points.
SIGNS_X: list[int | alt.ExprRef] = [20, alt.ExprRef("width - 170")]
NAMES_X = alt.ExprRef("width - 140")
LEAST_SPAN = 0.5

Group = list[tuple[int, tuple[float, float, float]]]
"""Cases by their number, each with its seconds, its accuracy in percent as a negative number, and its MiB."""


def chart(cases: Sequence[Measured]) -> Chart | Nothing:
    """One sign per case; one cell at a time."""
    groups = _groups(cases)
    rows = tuple(row for group in groups for row in _rows(_with_usual_seeds(cases, group)))
    if not rows:
        because = "no two frameworks trained the same cell in one session with accuracy, time and memory"
        return Nothing(name=NAME, title=TITLE, because=because)
    notes = tuple(note for group in groups for note in _others(cases, group))
    picture = _picture(cases)
    return Chart(
        name=NAME, title=TITLE, lead=LEAD, columns=COLUMNS, rows=rows, notes=notes, picture=picture, choose="cell"
    )


def _groups(cases: Sequence[Measured]) -> list[Group]:
    """The cases of each cell that several frameworks trained."""
    found: dict[str, Group] = {}
    for number, case in enumerate(cases):
        if (of_case := _figures(case)) is not None:
            found.setdefault(case.cell, []).append((number, of_case))
    return [group for group in found.values() if len({cases[number].case.framework for number, _ in group}) > 1]


def _with_usual_seeds(cases: Sequence[Measured], group: Group) -> Group:
    """Those with at least half of the seeds that most have: accuracies of other seeds may differ more than these."""
    seeds = {number: frozenset(run.seed for run in cases[number].sound) for number, _ in group}
    (usual, _), *_ = Counter(seeds.values()).most_common(1)
    return [one for one in group if 2 * len(seeds[one[0]] & usual) >= len(usual)]


def _others(cases: Sequence[Measured], group: Group) -> Iterator[str]:
    shown = _with_usual_seeds(cases, group)
    if others := [cases[number].label for number, found in group if (number, found) not in shown]:
        yield f"Not shown, because they have fewer than half of the seeds of the others: {', '.join(others)}."


def _rows(group: Group) -> Iterator[Row]:
    for number, (seconds, lost, peak) in group:
        on_front = not any(_beats(other, (seconds, lost, peak)) for _, other in group)
        yield (number, seconds, -lost, peak, ON if on_front else OFF)


def _figures(case: Measured) -> tuple[float, float, float] | None:
    """Seconds, accuracy in percent as a negative number, and memory: less of each is better."""
    known = case.result.figures
    if not case.trained or not case.sound:
        return None
    try:
        return known["training_time"], -100 * known["accuracy"], known["peak_rss"] / MIB
    except KeyError:
        return None


def _beats(one: Sequence[float], other: Sequence[float]) -> bool:
    return one != other and all(ours <= theirs for ours, theirs in zip(one, other, strict=True))


def _picture(cases: Sequence[Measured]) -> Mapping[str, Any]:
    """Signs on the left; names in a column on the right, where none covers another, each with a line to its sign."""
    x = alt.X("seconds:Q", title="seconds of training", scale=alt.Scale(type="log", nice=False, range=SIGNS_X))
    y = alt.Y("accuracy:Q", title="accuracy (%)", scale=look.share())
    base = alt.Chart(look.ROWS).encode(x=x, y=y)
    hint = look.hint(
        ("case:N", "case"),
        ("seconds:Q", "seconds"),
        ("accuracy:Q", "accuracy (%)"),
        ("peak:Q", "peak memory (MiB)"),
        ("front:N", "Pareto front"),
    )
    signs = base.mark_point(strokeWidth=2).encode(
        color=look.framework_of_row(cases),
        fill=alt.condition(f"datum.front === '{ON}'", look.framework_of_row(cases), alt.value("transparent")),
        size=alt.Size("peak:Q", title="peak memory (MiB)", scale=alt.Scale(range=[60, 500]), legend=None),
        tooltip=hint,
    )
    lines = _in_order(base).mark_rule(strokeWidth=0.5, opacity=0.6).encode(x2=alt.value(NAMES_X), y2="name_at:Q")
    names = _in_order(alt.Chart(look.ROWS)).mark_text(align="left", dx=4)
    names = names.encode(x=alt.value(NAMES_X), y=alt.Y("name_at:Q"), text="framework:N")
    return look.specification(alt.layer(lines, signs, names), HEIGHT)


def _in_order(chart: alt.Chart) -> alt.Chart:
    """Rows with ``name_at``, the accuracy at whose height the name is: in equal steps, in the order of the accuracy."""
    order: list[alt.SortField | dict[str, str]] = [
        alt.SortField("accuracy", order="descending"),
        alt.SortField("seconds"),
    ]
    span = f"max({LEAST_SPAN}, datum.highest - datum.lowest)"
    name_at = f"(datum.highest + datum.lowest) / 2 + {span} * (0.5 - (datum.place - 0.5) / datum.names)"
    placed = chart.transform_window(place="row_number()", sort=order)
    spread = placed.transform_joinaggregate(names="count(accuracy)", highest="max(accuracy)", lowest="min(accuracy)")
    return spread.transform_calculate(name_at=name_at)
