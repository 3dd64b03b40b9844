"""Frameworks side by side: one row per framework, for each model, data set, device and machine."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from pytest_dlbench.judging import METRICS, Metric, Metrics, is_sound, shown_in
from pytest_dlbench.judging.outcomes import UNSOUND
from pytest_dlbench.planning.sweep import show
from pytest_dlbench.records import CaseResult
from pytest_dlbench.records.cases import label_of
from pytest_dlbench.reporting import figures, foreign, terminal
from pytest_dlbench.reporting.columns import OWN
from pytest_dlbench.storing.recorded import Recorded, began

Row = list[str]
Seen = tuple[str, CaseResult]
"""The machine's name and what was found there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Table:
    title: str
    headings: Row
    rows: list[Row]
    note: str


def tables(results: Iterable[CaseResult], metrics: Metrics = METRICS) -> list[str]:
    """Text tables of a session with a heading each, the fastest framework first."""
    lines = []
    for table in _tables([("", result) for result in results], metrics):
        grid = terminal.grid(table.headings[0], right=table.headings[1:])
        for row in table.rows:
            grid.add_row(*row)
        lines += [table.title, *(terminal.lines(grid) if table.rows else []), *([table.note] if table.note else []), ""]
    return lines


def markdown(cases: Iterable[Recorded], metrics: Metrics = METRICS) -> list[str]:
    """The same of several sessions as tables in Markdown, with the newest figures of a case on each machine."""
    lines = []
    seen = [(case.record.context.machine.name, case.result) for case in sorted(cases, key=began)]
    for table in _tables(seen, metrics):
        bars = ["---", *["---:"] * (len(table.headings) - 1)]
        cells = ([foreign.markdown(cell) for cell in row] for row in (table.headings, *table.rows))
        heading, *others = (f"| {' | '.join(row)} |" for row in cells)
        lines += [f"**{foreign.markdown(table.title)}**", ""]
        lines += [heading, f"| {' | '.join(bars)} |", *others, ""] if table.rows else []
        lines += [foreign.markdown(table.note), ""] if table.note else []
    return lines


def _tables(seen: Sequence[Seen], metrics: Metrics) -> Iterator[_Table]:
    """The tables; of several results of a case, the last sound one is in there."""
    for title, group in _grouped(seen).items():
        sound = [result for result in group if is_sound(result)]
        threads = sorted({result.case.threads for result in group})
        columns = [
            metric for metric in shown_in("side_by_side", metrics) if not metric.is_optional or _has(sound, metric)
        ]
        # Of recurrent layers, the kernels explain most of the differences.
        kernels = [OWN["recurrent_kernels"]] if any(result.recurrent_kernels for result in sound) else []
        speeds = [f"samples/s, {_threads(count)}" for count in threads]
        yield _Table(
            title=title,
            headings=["framework", *speeds, *(metric.heading for metric in columns), *kernels, OWN["equal_to"]],
            rows=_rows(sound, threads, columns, metrics, has_kernels=bool(kernels)),
            note=_unsound(group),
        )


def _grouped(seen: Sequence[Seen]) -> dict[str, list[CaseResult]]:
    """The results by the title of their table; it omits a label and a machine that all have."""
    # Sorted by name; points of a sweep stay in the order in which they were trained.
    trained = sorted((one for one in seen if _is_trained(one[1])), key=lambda one: _cell(one[1]))
    labels = {label_of(result.case) for _, result in trained}
    machines = {machine for machine, _ in trained}
    groups: dict[str, list[CaseResult]] = {}
    for machine, result in trained:
        label = label_of(result.case) if len(labels) > 1 else ""
        where = machine if len(machines) > 1 else ""
        title = ", ".join(filter(None, (*_cell(result), label, *_settings(result), where)))
        groups.setdefault(title, []).append(result)
    return groups


def _unsound(group: Sequence[CaseResult]) -> str:
    """Which cases have no sound result, and why: ``not shown: jax with 2 threads (invalid)``."""
    sound = {_place(result) for result in group if is_sound(result)}
    reasons = {_place(result): _why(result) for result in group if _place(result) not in sound}
    shown = (f"{framework} with {_threads(count)} ({why})" for (framework, count), why in reasons.items())
    return f"not shown: {', '.join(shown)}" if reasons else ""


def _place(result: CaseResult) -> tuple[str, int]:
    return result.case.framework, result.case.threads


def _why(result: CaseResult) -> str:
    """The outcome that makes a result unsound; a verdict does not, but invalid runs do."""
    return result.outcome.value.replace("_", " ") if result.outcome in UNSOUND else "invalid"


def _threads(count: int) -> str:
    return f"{count} thread{'s' * (count > 1)}"


def _is_trained(result: CaseResult) -> bool:
    return bool(result.figures) and "latency" not in result.figures


def _has(group: Sequence[CaseResult], metric: Metric) -> bool:
    return any(metric.name in result.figures for result in group)


def _cell(result: CaseResult) -> tuple[str, ...]:
    case = result.case
    workers = f"{case.workers} workers" if case.workers > 1 else ""
    return f"{case.model} on {case.dataset}", case.device, f"scale {case.scale}", workers


def _settings(result: CaseResult) -> Iterable[str]:
    return [f"{name} {show(value)}" for name, value in result.case.settings.items()]


def _rows(
    group: Sequence[CaseResult],
    threads: Sequence[int],
    columns: Sequence[Metric],
    metrics: Metrics,
    *,
    has_kernels: bool,
) -> list[Row]:
    by_framework: dict[str, dict[int, CaseResult]] = {}
    for result in group:
        by_framework.setdefault(result.case.framework, {})[result.case.threads] = result
    ranked = sorted(by_framework.items(), key=lambda item: -max(map(_speed, item[1].values())))
    return [
        _row(framework, by_threads, threads, columns, metrics, has_kernels=has_kernels)
        for framework, by_threads in ranked
    ]


def _speed(result: CaseResult) -> float:
    return result.figures.get("throughput", 0.0)


def _row(
    framework: str,
    by_threads: dict[int, CaseResult],
    threads: Sequence[int],
    columns: Sequence[Metric],
    metrics: Metrics,
    *,
    has_kernels: bool,
) -> Row:
    """Throughput at each number of threads; the other figures at the largest."""
    result = by_threads[max(by_threads)]
    speeds = [f"{_speed(by_threads[count]):,.0f}" if count in by_threads else "–" for count in threads]
    names = [metric.name for metric in columns]
    shown = [figures.figure(name, result.figures[name], metrics) if name in result.figures else "–" for name in names]
    shown += [figures.kernel_kinds(result.recurrent_kernels)] if has_kernels else []
    return [framework, *speeds, *shown, f"{result.certificate.deviation:.0e}" if result.certificate else "–"]
