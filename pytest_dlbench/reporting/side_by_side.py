"""Frameworks side by side: one row per framework, for each model, data set and device."""

from collections.abc import Iterable, Sequence

from pytest_dlbench.judging import METRICS, Metric, Metrics, shown_in
from pytest_dlbench.planning.sweep import show
from pytest_dlbench.records import CaseResult
from pytest_dlbench.reporting import figures, foreign, terminal
from pytest_dlbench.reporting.columns import OWN

Row = list[str]


def tables(results: Iterable[CaseResult], metrics: Metrics = METRICS) -> list[str]:
    """Text tables with a heading each, the fastest framework first."""
    lines = []
    for title, headings, rows in _grouped(results, metrics):
        grid = terminal.grid(headings[0], right=headings[1:])
        for row in rows:
            grid.add_row(*row)
        lines += [title, *terminal.lines(grid), ""]
    return lines


def markdown(results: Iterable[CaseResult], metrics: Metrics = METRICS) -> list[str]:
    """The same as tables in Markdown."""
    lines = []
    for title, headings, rows in _grouped(results, metrics):
        bars = ["---", *["---:"] * (len(headings) - 1)]
        cells = ([foreign.markdown(cell) for cell in row] for row in (headings, *rows))
        heading, *others = (f"| {' | '.join(row)} |" for row in cells)
        lines += [f"**{foreign.markdown(title)}**", "", heading, f"| {' | '.join(bars)} |", *others, ""]
    return lines


def _grouped(results: Iterable[CaseResult], metrics: Metrics) -> Iterable[tuple[str, Row, list[Row]]]:
    # Sorted by name; points of a sweep stay in the order in which they were trained.
    groups: dict[tuple[str, ...], list[CaseResult]] = {}
    for result in sorted((result for result in results if _is_trained(result)), key=_cell):
        groups.setdefault((*_cell(result), *_settings(result)), []).append(result)
    for (model, dataset, device, scale, workers, *settings), group in groups.items():
        threads = sorted({result.case.threads for result in group})
        speeds = [f"samples/s, {count} thread{'s' * (count > 1)}" for count in threads]
        columns = [
            metric for metric in shown_in("side_by_side", metrics) if not metric.is_optional or _has(group, metric)
        ]
        # Of recurrent layers, the kernels explain most of the differences.
        kernels = [OWN["recurrent_kernels"]] if any(result.recurrent_kernels for result in group) else []
        headings = ["framework", *speeds, *(metric.heading for metric in columns), *kernels, OWN["equal_to"]]
        title = ", ".join(
            (f"{model} on {dataset}", device, f"scale {scale}", *([workers] if workers else []), *settings)
        )
        yield title, headings, _rows(group, threads, columns, metrics, has_kernels=bool(kernels))


def _is_trained(result: CaseResult) -> bool:
    return bool(result.figures) and "latency" not in result.figures


def _has(group: Sequence[CaseResult], metric: Metric) -> bool:
    return any(metric.name in result.figures for result in group)


def _cell(result: CaseResult) -> tuple[str, ...]:
    case = result.case
    return (case.model, case.dataset, case.device, case.scale, f"{case.workers} workers" if case.workers > 1 else "")


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
