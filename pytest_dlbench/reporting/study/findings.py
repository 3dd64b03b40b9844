"""What was found: ranks, tables, curves, costs, scaling and phases, each only if the records have its figures."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from statistics import median
from typing import Any

from pytest_dlbench.judging import METRICS, Metric, shown_in
from pytest_dlbench.judging.correlation import epochs_and_accuracy
from pytest_dlbench.judging.verdicts import ALPHA
from pytest_dlbench.records import CaseOutcome
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

Rows = Sequence[Mapping[str, Any]]
"""Rows of a chart, by column."""


def _final(rows: Rows) -> float:
    """The accuracy at the end of training, median over the runs."""
    last = {(row["case"], row["run"]): row["accuracy"] for row in sorted(rows, key=lambda row: row["step"])}
    return float(median(last.values()))


# What the words of a picture state: a figure of each case, and its name.
STATED: Mapping[str, tuple[str, Callable[[Rows], float]]] = {
    accuracy_epochs.NAME: ("final accuracy (%), median over the runs,", _final),
    pareto.NAME: ("accuracy (%), median over the runs,", lambda rows: median(row["accuracy"] for row in rows)),
    phases.NAME: ("seconds", lambda rows: sum(row["seconds"] for row in rows)),
    memory.NAME: ("peak (MiB)", lambda rows: max(row["peak"] for row in rows)),
}

INTERVAL = f"{100 * (1 - 2 * ALPHA):g} % interval"
# How the figures of a cell's table are made from steps and runs.
METHOD = (
    "The time of a run is the 10 % quantile of its steps after warm-up, which a tenth of them does not exceed,"
    " without steps that other processes disturbed if enough others remain. It shows what the computation costs:"
    " others delay some steps, not all. Tables have the median over the runs. A ratio is computed from the means of"
    " the logarithms of the runs' times, after times far from the median of their framework are pulled in, and may"
    " differ from the quotient of the two times next to it. Its {interval} includes an assumed spread, with standard"
    " deviations of {spread}; with one run of each framework, its width is this assumption alone."
)

# What a figure with two others in brackets is.
EXTENT = "median [lowest, highest]"

# What a section says of the cases that it is of.
WHOLE = f'Only trainings of a whole recipe on real data are shown, as in the section "{whole.TITLE}".'
SESSIONS = (
    "Frameworks that were trained by a whole recipe on one machine are in one picture, though their sessions may be"
    " hours apart: times that differ by a few per cent do not show which is faster."
)
THREADS = (
    "Trainings of a whole recipe are compared over all sessions on one machine with the same versions, except those"
    " that other processes affected. Their intervals include an assumed spread between sessions, but virtual machines"
    " of one kind may have hosts of different speeds: an efficiency above 100 % may have no other cause."
)
WIDEST = "The cell that most frameworks trained is shown."

Found = list[Section | Lacking]
Words = Callable[[Chart, Sequence[Measured], str], str]
"""What a picture shows, from its part of a chart, all cases, and the choice that the part is of."""


def findings(cases: Sequence[Measured]) -> Found:
    """Every section in the order of the page, or why it is not there."""
    timed = list(filter(whole.has_steady_cores, cases))
    # What accuracy costs is known at the end of a recipe only.
    finished = whole.over_sessions(list(filter(whole.is_whole, timed)), is_timed=True)
    by_threads = whole.over_threads(cases)
    widest = _widest(timed)
    return [
        _ranks(timed),
        overall.section(timed),
        _networks(timed),
        whole.section(cases),
        _curves(whole.over_sessions(cases, is_timed=False)),
        _drawn(pareto.chart(finished), finished, WHOLE, SESSIONS),
        _scaling(
            threads.chart(by_threads), by_threads, lambda case: case.case.threads, lambda case: case.workload, THREADS
        ),
        _scaling(workers.chart(timed), timed, lambda case: case.case.workers, lambda case: case.training),
        _phases(widest),
        _drawn(memory.chart(widest), widest, WIDEST),
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
    """How the figures are made; then what is stated of each cell, and its table."""
    found = frameworks.chart(cases)
    if isinstance(found, Nothing):
        return _lacking(found)
    groups = [frameworks.ranked(group) for group in frameworks.groups(cases)]
    blocks: list[Block] = [_method(frameworks.judged_metric(case) for group in groups for _, case in group)]
    stated = _stated(cases)
    for group in groups:
        cell = group[0][1].cell
        blocks += [Paragraph(text=f"{cell}: {'; '.join(stated[cell])}.")] if cell in stated else []
        blocks.append(_table(cell, group))
    return Section(title="Network by network", blocks=tuple(blocks))


def _method(metrics: Iterable[Metric]) -> Paragraph:
    spreads = dict.fromkeys(
        f"{100 * metric.run_sd:g} % between runs and {100 * metric.session_sd:g} % between sessions"
        for metric in metrics
    )
    return Paragraph(text=METHOD.format(interval=INTERVAL, spread=" or ".join(spreads)))


def _stated(cases: Sequence[Measured]) -> dict[str, list[str]]:
    """By cell, how its frameworks compare, and what became of its other cases."""
    found: dict[str, list[str]] = {}
    refused: dict[str, list[str]] = {}
    for number, cell, sentence in decision.statements(cases):
        case = cases[number]
        if case.result.outcome is CaseOutcome.UNSUPPORTED:
            refused.setdefault(cell, []).append(case.case.framework)
        else:
            found.setdefault(cell, []).append(sentence)
    for cell, names in refused.items():
        does = "does" if len(names) == 1 else "do"
        found.setdefault(cell, []).append(f"{', '.join(names)} {does} not support it")
    return found


def _table(cell: str, group: Sequence[tuple[int, Measured]]) -> document.Table:
    fastest = group[0][1]
    shown = (metric.name for metric in shown_in("study", METRICS))
    known = [name for name in shown if all(name in case.result.figures for _, case in group)]
    headings = (
        "framework",
        "runs",
        "step (10 % quantile), median",
        f"ratio to the fastest, {INTERVAL}",
        *(f"{METRICS[name].heading}, {EXTENT}" for name in known),
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


def _drawn(
    found: Chart | Table | Nothing, cases: Sequence[Measured], *more: str, words: Words | None = None
) -> Section | Lacking:
    """A chart with a picture for each of its choices, such as each cell, and what else a reader must know."""
    if isinstance(found, Nothing):
        return _lacking(found)
    blocks: list[Block] = [Paragraph(text=found.lead), *map(_text, (*found.notes, *more))]
    blocks += list(_pictures(found, cases, words or _words)) if isinstance(found, Chart) else []
    return Section(title=found.title, blocks=tuple(blocks))


def _phases(cases: Sequence[Measured]) -> Section | Lacking:
    """Where the time goes, with those that take far longer than the others in words only."""
    found = phases.chart(cases)
    if isinstance(found, Nothing):
        return _lacking(found)
    shown, note = phases.without_longest(found, cases)
    more = f". {note}" if note else ""
    return _drawn(shown, cases, WIDEST, words=lambda *of: _words(*of) + more)


def _scaling(
    found: Chart | Nothing,
    cases: Sequence[Measured],
    count: Callable[[Measured], int],
    workload: Callable[[Measured], str],
    *more: str,
) -> Section | Lacking:
    """Speed-ups as pictures, and in a table with their intervals."""
    words = scaling.words(cases, found.name, count, workload)
    section = _drawn(found, cases, *more, words=lambda _, __, choice: words[choice])
    if isinstance(section, Lacking):
        return section
    return replace(section, blocks=(*section.blocks, *scaling.blocks(cases, found.name, count, workload)))


def _curves(cases: Sequence[Measured]) -> Section | Lacking:
    """Accuracy against epochs, and their correlation."""
    section = _drawn(accuracy_epochs.chart(cases), cases)
    rows = tuple(row for case in cases if (row := _correlated(case)))
    if isinstance(section, Lacking) or not rows:
        return section
    headings = ("case", "runs", "evaluations", f"Pearson, {EXTENT}", f"Spearman, {EXTENT}")
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


def _pictures(chart: Chart, cases: Sequence[Measured], words: Words) -> Iterator[Picture]:
    rows = joined(chart, cases)
    of_choices: dict[str, list[int]] = {}
    for place, row in enumerate(rows):
        of_choices.setdefault(str(row[chart.choose]) if chart.choose else "", []).append(place)
    for number, (choice, places) in enumerate(of_choices.items(), start=1):
        part = replace(chart, rows=tuple(chart.rows[place] for place in places))
        name = f"{chart.name}-{number}" if chart.choose else chart.name
        title = f"{chart.title}, {choice}" if choice else _title(chart, cases)
        drawn = pictures.drawn(part, cases, name=name, alt=f"{title}: {words(part, cases, choice)}")
        yield replace(drawn, caption=choice or title)


def _words(chart: Chart, cases: Sequence[Measured], _: str) -> str:
    """One figure per case, as the picture's first reading."""
    name, figure = STATED[chart.name]
    # Without what the title says of the whole picture.
    subject = "framework" if chart.choose == "cell" else "case"
    found: dict[str, list[Mapping[str, Any]]] = {}
    for row in joined(chart, cases):
        found.setdefault(str(row[subject]), []).append(row)
    return f"{name} of " + "; ".join(f"{case} {significant(figure(rows))}" for case, rows in found.items())
