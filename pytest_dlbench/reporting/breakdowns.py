"""The phases of a step, framework by framework."""

from collections.abc import Iterator, Sequence

from pytest_dlbench.judging import METRICS, Metrics
from pytest_dlbench.judging.breakdowns import METRIC_OF
from pytest_dlbench.records import CaseResult
from pytest_dlbench.records.breakdowns import StepPhase
from pytest_dlbench.reporting import figures, terminal
from pytest_dlbench.reporting.scaling import workload
from pytest_dlbench.reporting.tables import Row


def tables(rows: Sequence[Row], metrics: Metrics = METRICS) -> list[str]:
    """A table for each network and data set whose steps were divided: each phase, and its share of all of them.

    Columns that no framework has are missing. Why others have no phases is among the warnings.
    """
    groups: dict[str, list[CaseResult]] = {}
    for row in rows:
        if any(name in row.result.figures for name in METRIC_OF.values()):
            groups.setdefault(f"phases of a step: {workload(row.result.case)}", []).append(row.result)
    lines = []
    for title, results in groups.items():
        found = [phase for phase, name in METRIC_OF.items() if any(name in result.figures for result in results)]
        grid = terminal.grid("framework", right=[*(phase.replace("_", " + ") for phase in found), "phases / step"])
        for result in results:
            grid.add_row(_framework(result), *_cells(result, found, metrics))
        lines += [title, *terminal.lines(grid), ""]
    return lines


def _framework(result: CaseResult) -> str:
    workers = result.case.workers
    return result.case.framework if workers == 1 else f"{result.case.framework}, {workers} workers"


def _cells(result: CaseResult, phases: Sequence[StepPhase], metrics: Metrics) -> Iterator[str]:
    own = {phase: result.figures[METRIC_OF[phase]] for phase in phases if METRIC_OF[phase] in result.figures}
    for phase in phases:
        if phase in own:
            share = own[phase] / sum(own.values())
            yield f"{figures.cell(METRIC_OF[phase], own[phase], metrics)} ({share:.0%})"
        else:
            yield "–"
    yield figures.cell("phase_sum", result.figures["phase_sum"], metrics)
