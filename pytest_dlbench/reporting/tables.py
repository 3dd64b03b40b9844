"""The tables at the end of a session: one per test function, grouped and sorted as asked, the best marked."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pytest_dlbench.judging import Metrics, is_sound
from pytest_dlbench.judging.best import best
from pytest_dlbench.judging.comparable import FEWEST_RUNS
from pytest_dlbench.records import CaseOutcome, CaseResult
from pytest_dlbench.reporting import cautions, figures, terminal
from pytest_dlbench.reporting.columns import Layout, heading

BEST = "*"
RULE = (
    f"{BEST} the best valid framework for its model, data set, device and settings: the 95 % interval of its runs"
    f" overlaps no other ({FEWEST_RUNS} runs or more each); where nothing is marked, the runs do not decide"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One case: its test function, the marks of its test, and every metric of every run."""

    result: CaseResult
    test: str = ""
    marks: tuple[str, ...] = ()
    values: Mapping[str, Sequence[float]] = field(default_factory=dict)


def row(result: CaseResult, reported: Mapping[str, Any]) -> Row:
    """A row from the data that a test's report carries: plain, because the test may have run in another process."""
    runs = reported["runs"]
    # Only metrics that every run has: some runs may not reach the target accuracy, for example.
    common = [name for name in runs[0] if all(name in run for run in runs)] if runs else []
    values = {name: [run[name] for run in runs] for name in common}
    return Row(result=result, test=reported["test"], marks=tuple(reported["marks"]), values=values)


def tables(rows: Sequence[Row], layout: Layout) -> list[str]:
    """All tables, with titles if there are several, and the meaning of the mark if one is marked."""
    groups: dict[tuple[str, ...], list[Row]] = {}
    for row in rows:
        groups.setdefault((row.test, *_labels(row, layout)), []).append(row)
    marked = _marked(rows, layout)
    lines: list[str] = []
    for key, group in groups.items():
        title = ", ".join(part for part in key if part)
        lines += [*([title] if len(groups) > 1 or layout.group_by else []), *_table(group, layout, marked), ""]
    return [*lines, RULE, ""] if marked else lines


def _labels(row: Row, layout: Layout) -> Iterator[str]:
    case = row.result.case
    for axis in layout.group_by:
        if axis == "mark":
            # The row already has the framework and the device.
            yield " ".join(mark for mark in sorted(row.marks) if mark not in (case.framework, case.device))
        else:
            yield f"{axis} {getattr(case, axis)}"


def _table(rows: Sequence[Row], layout: Layout, marked: frozenset[tuple[str, str]]) -> list[str]:
    has_kernels = any(row.result.recurrent_kernels for row in rows)
    columns = layout.shown({name for row in rows for name in row.result.figures}, has_kernels=has_kernels)
    grid = terminal.grid("case", right=[heading(column, layout.metrics) for column in columns])
    for row in sorted(rows, key=lambda row: _rank(row, layout)):
        shown = [
            _cell(row.result, column, layout.metrics, (row.result.case.id, column) in marked) for column in columns
        ]
        grid.add_row(terminal.name(row.result.case), *shown)
    return terminal.lines(grid)


def _rank(row: Row, layout: Layout) -> tuple[bool, float, str]:
    """Best first, cases without the figure last; by default in the order of the tests."""
    sort = layout.sort
    if sort in ("", "name"):
        return (False, 0.0, row.result.case.id if sort else "")
    found = row.result.figures.get(sort)
    if found is None:
        return (True, 0.0, "")
    return (False, -found if layout.metrics[sort].better == "higher" else found, "")


def _cell(result: CaseResult, column: str, metrics: Metrics, is_best: bool) -> str:
    if column == "verdict":
        return "saved" if result.saved and result.outcome is CaseOutcome.PASSED else cautions.verdict(result)
    if column == "runs":
        return str(result.runs)
    if column == "recurrent_kernels":
        return figures.kernel_kinds(result.recurrent_kernels)
    if column == "equal_to":
        return f"{result.certificate.deviation:.0e}" if result.certificate else "–"
    if column not in result.figures:
        return "–"
    return f"{BEST if is_best else ''}{figures.cell(column, result.figures[column], metrics)}"


def _marked(rows: Sequence[Row], layout: Layout) -> frozenset[tuple[str, str]]:
    """Case and column of every best figure, among valid cases that differ only in the framework."""
    rivals: dict[tuple[object, ...], list[Row]] = {}
    for row in filter(lambda row: is_sound(row.result), rows):
        case = row.result.case
        settings = tuple(sorted(case.settings.items()))
        place = (row.test, case.model, case.dataset, case.device, case.scale, case.threads, case.workers, settings)
        rivals.setdefault(place, []).append(row)
    found = set()
    for group in rivals.values():
        for column in layout.shown(layout.metrics):
            if column in layout.metrics:
                first = best(layout.metrics[column], [row.values.get(column, ()) for row in group])
                found |= {(group[first].result.case.id, column)} if first is not None else set()
    return frozenset(found)
