"""The end of a session in the terminal: one row a case, what is behind the outcomes, what was left out."""

from collections import Counter
from collections.abc import Iterable, Sequence
from io import StringIO
from pathlib import Path

from rich.console import Console
from rich.table import Table

from pytest_dlbench.judging import METRICS
from pytest_dlbench.matrix import LeftOut
from pytest_dlbench.records import Case, CaseOutcome, CaseResult, Machine, VerdictOutcome
from pytest_dlbench.reporting import figures, messages

# Outcomes that need not fail a test, and whose reason would not be seen then.
EXPLAINED = (CaseOutcome.INVALID, CaseOutcome.INCOMPARABLE, CaseOutcome.UNSUPPORTED, CaseOutcome.SKIPPED)
# Of these, the metrics that made them so.
BY_METRIC = {
    CaseOutcome.SUSPECT: "it looks worse; a baseline of so few sessions cannot tell",
    CaseOutcome.INCONCLUSIVE: f"neither regressed nor equivalent; {messages.WAY_OUT}",
    CaseOutcome.IMPROVED: "the baseline is stale; --dlbench-save accepts the new figures",
}
MAX_COLUMNS = 500


def table(results: Sequence[CaseResult]) -> list[str]:
    """The figures of all cases: medians over their runs. Those that only infer have a table of their own."""
    applied = [result for result in results if "latency" in result.figures]
    trained = [result for result in results if result not in applied]
    between = [""] if applied and trained else []
    return [*(_trained(trained) if trained else []), *between, *(_applied(applied) if applied else [])]


def _applied(results: Sequence[CaseResult]) -> list[str]:
    times = ("latency median", "10 %", "90 %", "import", "build")
    rows = grid("case", right=("runs", "samples/s", *times, "peak RSS", "CPUs"))
    rows.add_column("verdict", no_wrap=True)
    metrics = ("latency_median", "latency", "latency_p90", "import_time", "build_time", "peak_rss")
    for result in results:
        values = result.figures
        cells = (f"{values['throughput']:,.0f}", *shown(result, metrics), f"{values['cpu_use']:.2f}")
        rows.add_row(name(result.case), str(result.runs), *cells, _verdict(result))
    return lines(rows)


def _trained(results: Sequence[CaseResult]) -> list[str]:
    times = ("step median", "step 10 %", "import", "build", "first step")
    some = of_some(results)
    rows = grid("case", right=("runs", "samples/s", *times, "accuracy", "peak RSS", "CPUs", "equal to", *some))
    rows.add_column("verdict", no_wrap=True)
    for result in results:
        rows.add_row(name(result.case), str(result.runs), *_cells(result), *shown(result, some), _verdict(result))
    return lines(rows)


def of_some(results: Sequence[CaseResult]) -> list[str]:
    """The metrics that have a column of their own where any of these cases has a figure."""
    names = [metric.name for metric in METRICS.values() if metric.is_shown]
    return [name for name in names if any(name in result.figures for result in results)]


def shown(result: CaseResult, metrics: Iterable[str]) -> list[str]:
    """Figures of a case, and a dash for what it has not."""
    return [figures.figure(name, result.figures[name]) if name in result.figures else "–" for name in metrics]


def grid(*left: str, right: Sequence[str]) -> Table:
    """An empty table: columns of text, then columns of figures."""
    empty = Table(box=None, padding=(0, 1), pad_edge=False)
    for heading in left:
        empty.add_column(heading, no_wrap=True)
    for heading in right:
        empty.add_column(heading, justify="right", no_wrap=True)
    return empty


def lines(filled: Table) -> list[str]:
    """A table as text, as wide as it must be: a cut figure helps nobody."""
    target = StringIO()
    Console(file=target, width=MAX_COLUMNS, no_color=True, highlight=False, markup=False, emoji=False).print(filled)
    return [line.rstrip() for line in target.getvalue().splitlines()]


def name(case: Case) -> str:
    """A case in a table."""
    # What stands above the table, and holds for all of it, is not said again in each row.
    place = f"-{case.dataset}-{case.device}"
    return case.id.removeprefix("training-").replace(f"{place}-{case.scale}", place)


def _cells(result: CaseResult) -> list[str]:
    values = result.figures
    if not values:
        return ["–"] * 10
    return [
        f"{values['throughput']:,.0f}",
        figures.seconds(values["step_time_median"]),
        figures.seconds(values["step_time"]),
        # Journals of 0.1.0's first days have neither of the first two.
        *shown(result, ("import_time", "build_time", "first_step", "accuracy", "peak_rss")),
        f"{values['cpu_use']:.2f}",
        f"{result.certificate.deviation:.0e}" if result.certificate else "–",
    ]


def _verdict(result: CaseResult) -> str:
    return "saved" if result.saved else result.outcome.value


def notes(results: Sequence[CaseResult]) -> list[str]:
    """What stands behind outcomes that need not fail a test; cases with one reason share its lines."""
    shown: list[str] = []
    if missing := sum(result.outcome is CaseOutcome.NO_BASELINE for result in results):
        shown.append(f"no_baseline: {missing} × nothing to compare with; --dlbench-save --dlbench-reason TEXT saves")
    shown += _cut_short(results)
    shown += [f"warning: {name(result.case)}: {warning}" for result in results for warning in result.warnings]
    shown += [line for result in results if result.saved for line in _accepted(result)]
    for outcome, meaning in BY_METRIC.items():
        told = [line for result in results if result.outcome is outcome for line in _deciding(result)]
        shown += [f"{outcome}: {meaning}", *told] if told else []
    for outcome in EXPLAINED:
        cases: dict[str, list[str]] = {}
        for result in results:
            if result.outcome is outcome:
                cases.setdefault(result.message, []).append(name(result.case))
        for message, names in cases.items():
            shown += [f"{outcome}: {', '.join(names)}", *(f"  {line}" for line in message.splitlines())]
    return shown


def _cut_short(results: Sequence[CaseResult]) -> list[str]:
    """Trainings that the scale ended before their recipe does: their accuracy is not the recipe's."""
    pairs = Counter(
        (result.case.scale, result.steps, result.recipe_steps) for result in results if "step_time" in result.figures
    )
    return [
        f"scale {scale}: {steps:,} of the recipe's {recipe_steps:,} steps trained in {count} of {len(results)} cases"
        for (scale, steps, recipe_steps), count in pairs.items()
        if steps and recipe_steps and steps < recipe_steps
    ]


def _accepted(result: CaseResult) -> list[str]:
    """What a saved baseline differs by from the one it replaces: whoever accepts a slip should see it."""
    changed = [verdict for verdict in result.verdicts if verdict.outcome is not VerdictOutcome.EQUIVALENT]
    return [f"saved: {name(result.case)}: {messages.line(verdict)}" for verdict in changed]


def _deciding(result: CaseResult) -> list[str]:
    """The metrics behind an outcome; its message where there are none."""
    verdicts = [verdict for verdict in result.verdicts if verdict.outcome.value == result.outcome.value]
    if not verdicts:
        return [f"  {name(result.case)}: {result.message}"]
    return [f"  {name(result.case)}: {messages.line(verdict)}" for verdict in verdicts]


def left_out(cells: Iterable[LeftOut], *, is_listed: bool) -> list[str]:
    """Cells that make no sense, counted; by reason where they are to be listed."""
    # Two tests with the same axes leave out the same cells.
    reasons = Counter(reason for _, reason in {(cell.id, cell.reason) for cell in cells})
    if not reasons or is_listed:
        return [f"left out: {count} × {reason}" for reason, count in sorted(reasons.items())]
    return [f"left out: {reasons.total()} cells of the matrix, for {len(reasons)} reasons; -v lists them"]


def journals(paths: Iterable[str]) -> list[str]:
    """Where every run is recorded."""
    return [f"journal: {path}" for path in sorted(paths) if Path(path).exists()]


def machine(machine: Machine, threads: Sequence[int], scale: str) -> str:
    """One line on where and how it was measured."""
    shown = " and ".join(map(str, threads))
    return f"machine {machine.name} ({machine.cpu_model}), {shown} threads, scale {scale}"
