"""What was found: ranks, tables, curves, costs, scaling and phases, each only if the records have its figures."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from statistics import median
from typing import Any

from pytest_dlbench.judging import METRICS, shown_in
from pytest_dlbench.judging.correlation import epochs_and_accuracy
from pytest_dlbench.reporting import figures
from pytest_dlbench.reporting.charts import (
    Chart,
    Measured,
    Nothing,
    Table,
    accuracy_epochs,
    frameworks,
    memory,
    pareto,
    phases,
    ranks,
    threads,
    workers,
)
from pytest_dlbench.reporting.charts.chart import joined
from pytest_dlbench.reporting.figures import significant
from pytest_dlbench.reporting.page import decision
from pytest_dlbench.reporting.study import document, overall, pictures, scaling, whole
from pytest_dlbench.reporting.study.conditions import is_shortened
from pytest_dlbench.reporting.study.document import Block, Lacking, Paragraph, Picture, Section

RECORD = "pytest bench -m training --dlbench-scale full --dlbench-runs 5"
COMMANDS: Mapping[str, str] = {
    ranks.NAME: f"{RECORD} --dlbench-models all --dlbench-frameworks all",
    frameworks.NAME: f"{RECORD} --dlbench-frameworks pytorch,jax",
    accuracy_epochs.NAME: RECORD,
    pareto.NAME: f"{RECORD} --dlbench-frameworks pytorch,jax",
    threads.NAME: f"{RECORD} --dlbench-threads 1,2",
    workers.NAME: f"{RECORD} --dlbench-workers 1,2",
    phases.NAME: RECORD,
    memory.NAME: RECORD,
}
# What the words of a picture state: a column, and how the values of a case are joined.
STATED: Mapping[str, tuple[str, Callable[[Sequence[float]], float]]] = {
    accuracy_epochs.NAME: ("accuracy", max),
    pareto.NAME: ("accuracy", median),
    threads.NAME: ("speedup", median),
    workers.NAME: ("speedup", median),
    phases.NAME: ("seconds", sum),
    memory.NAME: ("peak", max),
}

# What there may be more of.
COUNTED = (threads.NAME, workers.NAME)

# What a section says of the cases that it is of.
WHOLE = "Only trainings of a whole recipe are shown."
SESSIONS = (
    "Frameworks that were trained by a whole recipe on one machine are in one picture, though their sessions may be"
    " hours apart: times that differ by a few per cent do not show which is faster."
)
WIDEST = "The cell that most frameworks trained is shown."

Found = list[Section | Lacking]


def findings(cases: Sequence[Measured]) -> Found:
    """Every section in the order of the page, or why it is not there."""
    # What accuracy costs is known at the end of a recipe only.
    finished = whole.over_sessions([case for case in cases if not is_shortened(case)], is_timed=True)
    widest = _widest(cases)
    return [
        _ranks(cases),
        overall.section(cases),
        _networks(cases),
        whole.section(cases),
        _curves(whole.over_sessions(cases, is_timed=False)),
        _drawn(pareto.chart(finished), finished, WHOLE, SESSIONS),
        _scaling(threads.chart(cases), cases, lambda case: case.case.threads, lambda case: case.workload),
        _scaling(workers.chart(cases), cases, lambda case: case.case.workers, lambda case: case.training),
        *(_drawn(module.chart(widest), widest, WIDEST) for module in (phases, memory)),
    ]


def _widest(cases: Sequence[Measured]) -> Sequence[Measured]:
    """The cases of the cell that most frameworks trained, by the names of those, or all if none can be compared."""
    groups = list(frameworks.groups(cases))
    if not groups:
        return cases
    found = [case for _, case in max(groups, key=lambda group: len({case.case.framework for _, case in group}))]
    names = {case.case.framework for case in found}
    return [replace(case, label=case.case.framework) for case in found] if len(names) == len(found) else found


def _lacking(nothing: Nothing) -> Lacking:
    return Lacking(title=nothing.title, because=nothing.because, command=COMMANDS[nothing.name])


def _ranks(cases: Sequence[Measured]) -> Section | Lacking:
    found = ranks.chart(cases)
    if isinstance(found, Nothing):
        return _lacking(found)
    rows = tuple(
        (str(device), str(framework), _shown(mean), f"{_shown(lower)} to {_shown(upper)}")
        for device, framework, mean, lower, upper, *_ in found.rows
    )
    headings = ("device", "framework", "mean rank", "half a critical difference to either side")
    table = document.Table(caption=found.title, headings=headings, rows=rows, texts=2)
    words = "; ".join(f"{row[1]} {row[2]}" for row in rows)
    picture = pictures.drawn(found, cases, name=found.name, alt=f"Mean ranks, 1 is the fastest: {words}")
    return Section(title=found.title, blocks=(*map(_text, found.notes), picture, table))


def _text(note: str) -> Paragraph:
    return Paragraph(text=note)


def _shown(value: object) -> str:
    return significant(float(str(value)))


def _networks(cases: Sequence[Measured]) -> Section | Lacking:
    """A sentence and a table per cell."""
    found = frameworks.chart(cases)
    if isinstance(found, Nothing):
        return _lacking(found)
    blocks: list[Block] = []
    stated = {cases[number].cell: sentence for number, _, sentence in decision.statements(cases)}
    for group in frameworks.groups(cases):
        cell = group[0][1].cell
        blocks += [Paragraph(text=f"{cell}: {stated[cell]}.")] if cell in stated else []
        blocks.append(_table(cell, frameworks.ranked(group)))
    return Section(title="Network by network", blocks=tuple(blocks))


def _table(cell: str, group: Sequence[tuple[int, Measured]]) -> document.Table:
    fastest = group[0][1]
    shown = (metric.name for metric in shown_in("study", METRICS))
    known = [name for name in shown if all(name in case.result.figures for _, case in group)]
    headings = (
        "framework",
        "runs",
        "step, 10 % quantile",
        "ratio to the fastest, 90 % interval",
        *(f"{METRICS[name].heading}, from – to" for name in known),
    )
    rows = tuple(
        (
            case.case.framework,
            f"{len(case.sound):,}",
            figures.seconds(median(frameworks.step_seconds(case))),
            _ratio(case, fastest),
            *(_span(name, case) for name in known),
        )
        for _, case in group
    )
    return document.Table(caption=cell, headings=headings, rows=rows)


def _ratio(case: Measured, fastest: Measured) -> str:
    if case is fastest:
        return "1"
    found = frameworks.ratio(case, fastest)
    return f"{significant(found.estimate)} [{significant(found.lower)}, {significant(found.upper)}]"


def _span(name: str, case: Measured) -> str:
    values = sorted(METRICS[name].values(case.sound))
    if not values:
        return "–"
    return _between(*(figures.figure(name, value) for value in (median(values), values[0], values[-1])))


def _between(middle: str, low: str, high: str) -> str:
    return f"{middle} [{low}, {high}]" if low != high else middle


def _drawn(found: Chart | Table | Nothing, cases: Sequence[Measured], *more: str) -> Section | Lacking:
    """A chart with a picture for each of its choices, such as each cell, and what else a reader must know."""
    if isinstance(found, Nothing):
        return _lacking(found)
    blocks: list[Block] = [Paragraph(text=found.lead), *map(_text, (*found.notes, *more))]
    blocks += list(_pictures(found, cases)) if isinstance(found, Chart) else []
    return Section(title=found.title, blocks=tuple(blocks))


def _scaling(
    found: Chart | Nothing,
    cases: Sequence[Measured],
    count: Callable[[Measured], int],
    workload: Callable[[Measured], str],
) -> Section | Lacking:
    """Speed-ups as pictures, and in a table with their intervals."""
    section = _drawn(found, cases)
    if isinstance(section, Lacking):
        return section
    return replace(section, blocks=(*section.blocks, scaling.table(cases, found.name, count, workload)))


def _curves(cases: Sequence[Measured]) -> Section | Lacking:
    """Accuracy against epochs, and their correlation."""
    section = _drawn(accuracy_epochs.chart(cases), cases)
    rows = tuple(row for case in cases if (row := _correlated(case)))
    if isinstance(section, Lacking) or not rows:
        return section
    headings = ("case", "runs", "evaluations", "Pearson, from – to", "Spearman, from – to")
    table = document.Table(caption="Correlation of epochs and accuracy within a run", headings=headings, rows=rows)
    return replace(section, blocks=(*section.blocks, table))


def _correlated(case: Measured) -> tuple[str, ...] | None:
    found = [one for run in case.trained if (one := epochs_and_accuracy(run))]
    if not found:
        return None
    points = [one.points for one in found]
    coefficients = ([one.pearson for one in found], [one.spearman for one in found])
    spans = (_extent(values) for values in coefficients)
    return (case.label, f"{len(found):,}", f"{max(points):,}", *spans)


def _extent(values: Sequence[float]) -> str:
    """Their median, and from where to where they are."""
    return _between(*(f"{value:.2f}" for value in (median(values), min(values), max(values))))


def _title(chart: Chart, cases: Sequence[Measured]) -> str:
    """That of a picture of all cases: their cell, if they have one."""
    cells = {case.cell for case in cases}
    return f"{chart.title}, {cells.pop()}" if len(cells) == 1 else chart.title


def _pictures(chart: Chart, cases: Sequence[Measured]) -> Iterator[Picture]:
    rows = joined(chart, cases)
    of_choices: dict[str, list[int]] = {}
    for place, row in enumerate(rows):
        of_choices.setdefault(str(row[chart.choose]) if chart.choose else "", []).append(place)
    for number, (choice, places) in enumerate(of_choices.items(), start=1):
        part = replace(chart, rows=tuple(chart.rows[place] for place in places))
        name = f"{chart.name}-{number}" if chart.choose else chart.name
        title = f"{chart.title}, {choice}" if choice else _title(chart, cases)
        drawn = pictures.drawn(part, cases, name=name, alt=f"{title}: {_words(part, cases)}")
        yield replace(drawn, caption=choice or title)


def _words(chart: Chart, cases: Sequence[Measured]) -> str:
    """One figure per case, as the picture's first reading."""
    column, joined_by = STATED[chart.name]
    found: dict[str, list[float]] = {}
    for row in joined(chart, cases):
        if isinstance(value := row[column], int | float) and (subject := _subject(chart, row)):
            found.setdefault(subject, []).append(float(value))
    return f"{chart.columns[column]} of " + "; ".join(
        f"{case} {significant(joined_by(values))}" for case, values in found.items()
    )


def _subject(chart: Chart, row: Mapping[str, Any]) -> str:
    """What a figure is of, without what the title says of the whole picture; empty for the 1 of the fewest."""
    if column := next((name for name in COUNTED if name in chart.columns), ""):
        return f"{row['framework']} with {row[column]} {column}" if row["ideal"] > 1 else ""
    return str(row["framework"] if chart.choose == "cell" else row["case"])
