"""The end of a session in the terminal: one row a case, what is behind the outcomes, what was left out."""

from collections import Counter
from collections.abc import Iterable, Sequence
from io import StringIO

from rich.console import Console
from rich.table import Table

from pytest_dlbench.matrix import LeftOut
from pytest_dlbench.records import Case, CaseOutcome, CaseResult, Machine
from pytest_dlbench.reporting import figures

# Outcomes whose reason the failing or skipped test has shown already.
TOLD = frozenset(CaseOutcome) - {
    CaseOutcome.INCONCLUSIVE,
    CaseOutcome.IMPROVED,
    CaseOutcome.NO_BASELINE,
    CaseOutcome.INCOMPARABLE,
}
LEFT_OUT_SHOWN = 8
MAX_COLUMNS = 500


def table(results: Sequence[CaseResult]) -> list[str]:
    """The figures of all cases: medians over their runs. As wide as it must be: a cut figure helps nobody."""
    grid = Table(box=None, padding=(0, 1), pad_edge=False)
    grid.add_column("case", no_wrap=True)
    for heading in ("runs", "samples/s", "step median", "step 10 %", "first step", "accuracy", "peak RSS", "CPUs"):
        grid.add_column(heading, justify="right", no_wrap=True)
    grid.add_column("verdict", no_wrap=True)
    for result in results:
        grid.add_row(_name(result.case), str(result.runs), *_cells(result), _verdict(result))
    target = StringIO()
    Console(file=target, width=MAX_COLUMNS, no_color=True, highlight=False).print(grid)
    return [line.rstrip() for line in target.getvalue().splitlines()]


def _name(case: Case) -> str:
    # What stands above the table, and holds for all of it, is not said again in each row.
    return case.id.removeprefix("training-").replace(f"-{case.scale}", "")


def _cells(result: CaseResult) -> list[str]:
    values = result.figures
    if not values:
        return ["–"] * 7
    return [
        f"{values['throughput']:,.0f}",
        figures.seconds(values["step_time_median"]),
        figures.seconds(values["step_time"]),
        figures.seconds(values["first_step"]),
        figures.figure("accuracy", values["accuracy"]),
        figures.figure("peak_rss", values["peak_rss"]),
        f"{values['cpu_use']:.2f}",
    ]


def _verdict(result: CaseResult) -> str:
    return "saved" if result.saved else result.outcome.value


def notes(results: Iterable[CaseResult]) -> list[str]:
    """What stands behind outcomes that fail no test, once for each text."""
    lines: list[str] = []
    missing = [result for result in results if result.outcome is CaseOutcome.NO_BASELINE]
    if missing:
        lines.append(f"no baseline: {len(missing)} of the cases; --dlbench-save --dlbench-reason TEXT writes them")
    for result in results:
        if result.outcome not in TOLD and result.outcome is not CaseOutcome.NO_BASELINE:
            lines += [f"{result.outcome}: {result.case.id}", *(f"  {line}" for line in result.message.splitlines())]
    return lines


def left_out(cells: Sequence[LeftOut]) -> list[str]:
    """Cells that make no sense, counted by reason."""
    reasons = Counter(cell.reason for cell in cells)
    lines = [f"left out: {count} × {reason}" for reason, count in reasons.most_common(LEFT_OUT_SHOWN)]
    if len(reasons) > LEFT_OUT_SHOWN:
        lines.append(f"left out: {len(reasons) - LEFT_OUT_SHOWN} more reasons")
    return lines


def machine(machine: Machine, threads: int, scale: str) -> str:
    """One line on where and how it was measured."""
    return f"machine {machine.name} ({machine.cpu_model}), {threads} threads, scale {scale}"
