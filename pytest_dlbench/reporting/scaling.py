"""Several data-parallel workers against the fewest of the same framework and session."""

from collections.abc import Sequence

from pytest_dlbench.judging import METRICS, Metrics, is_sound, shown_in
from pytest_dlbench.judging.frameworks import of_runs
from pytest_dlbench.planning.sweep import show
from pytest_dlbench.records import Case
from pytest_dlbench.reporting import figures, terminal
from pytest_dlbench.reporting.columns import OWN
from pytest_dlbench.reporting.tables import Row


def tables(rows: Sequence[Row], metrics: Metrics = METRICS) -> list[str]:
    """A table for each network and data set that a framework trained with several numbers of workers.

    Speed-up is the ratio of samples per second, efficiency that ratio over the ratio of the numbers of workers, with
    its 90 % interval from the runs of both.
    """
    lines = []
    for title, groups in _grouped(rows).items():
        grid = terminal.grid("framework", right=["workers", "samples/s", "speed-up", "efficiency", *_headings(metrics)])
        found = [cells for group in groups.values() for cells in _of_framework(group, metrics)]
        for cells in found:
            grid.add_row(*cells)
        lines += [title, *terminal.lines(grid), ""] if found else []
    return lines


def _headings(metrics: Metrics) -> list[str]:
    return [*(metric.heading for metric in shown_in("scaling", metrics)), OWN["equal_to"]]


def _grouped(rows: Sequence[Row]) -> dict[str, dict[str, list[Row]]]:
    """Valid cases by what they trained, then by framework."""
    found: dict[str, dict[str, list[Row]]] = {}
    for row in rows:
        case = row.result.case
        if not is_sound(row.result) or "throughput" not in row.result.figures or row.result.pairing:
            continue
        found.setdefault(f"workers: {workload(case)}", {}).setdefault(case.framework, []).append(row)
    return found


def workload(case: Case) -> str:
    """What a case trains and how, without the framework and the number of its workers."""
    threads = f"{case.threads} thread{'s' * (case.threads > 1)} each"
    settings = (f"{name} {show(value)}" for name, value in case.settings.items())
    return ", ".join((f"{case.model} on {case.dataset}", case.device, threads, f"scale {case.scale}", *settings))


def _of_framework(rows: Sequence[Row], metrics: Metrics) -> list[list[str]]:
    """The rows of a framework, the fewest workers first; none if it had only one number of them."""
    fewest, *others = sorted(rows, key=lambda row: row.result.case.workers)
    if not others or fewest.result.case.workers == others[-1].result.case.workers:
        return []
    return [_cells(fewest, "1.00", "–", metrics), *(_cells(row, *_gain(row, fewest), metrics) for row in others)]


def _gain(row: Row, fewest: Row) -> tuple[str, str]:
    """Speed-up, and efficiency with its interval."""
    several = row.result.case.workers / fewest.result.case.workers
    found = of_runs(METRICS["throughput"], _speeds(row), _speeds(fewest))
    efficiency, lower, upper = (100 * value / several for value in (found.estimate, found.lower, found.upper))
    return f"{found.estimate:.2f}", f"{efficiency:.0f} % [{lower:.0f}, {upper:.0f}]"


def _speeds(row: Row) -> Sequence[float]:
    """Those of the runs, or their median where only that is known."""
    return row.values.get("throughput") or (row.result.figures["throughput"],)


def _cells(row: Row, speedup: str, efficiency: str, metrics: Metrics) -> list[str]:
    result = row.result
    names = [metric.name for metric in shown_in("scaling", metrics)]
    shown = [figures.cell(name, result.figures[name], metrics) if name in result.figures else "–" for name in names]
    equal = f"{result.certificate.deviation:.0e}" if result.certificate else "–"
    speed = f"{result.figures['throughput']:,.0f}"
    return [result.case.framework, str(result.case.workers), speed, speedup, efficiency, *shown, equal]
