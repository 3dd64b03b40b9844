"""The end of a session in the terminal: what is behind the outcomes, what was left out, where the files are."""

from collections import Counter
from collections.abc import Iterable, Sequence
from io import StringIO
from pathlib import Path

from rich.console import Console
from rich.table import Table

from pytest_dlbench.judging import METRICS, Metrics
from pytest_dlbench.records import Case, CaseOutcome, CaseResult, Machine, SkippedCell, VerdictOutcome
from pytest_dlbench.reporting import cautions, explain

# Outcomes that need not fail a test, and whose reason would not be seen then.
EXPLAINED = (CaseOutcome.INVALID, CaseOutcome.INCOMPARABLE, CaseOutcome.UNSUPPORTED, CaseOutcome.SKIPPED)
# Of these, the metrics that made them so.
BY_METRIC = {
    CaseOutcome.REGRESSED: "worse than the tolerance allows; the failure of its test says what changed in between",
    CaseOutcome.SUSPECT: "it looks worse, which a stored baseline alone cannot confirm; paired runs can",
    CaseOutcome.INCONCLUSIVE: "neither regressed nor equivalent",
    CaseOutcome.IMPROVED: "the baseline is stale; --dlbench-save accepts the new figures",
}
MAX_COLUMNS = 500


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


def notes(results: Sequence[CaseResult], metrics: Metrics = METRICS) -> list[str]:
    """What stands behind outcomes that need not fail a test; cases with one reason share its lines."""
    shown = _by_metric(results, metrics)
    if missing := sum(result.outcome is CaseOutcome.NO_BASELINE for result in results):
        shown.append(f"no_baseline: {missing} × nothing to compare with; --dlbench-save --dlbench-reason TEXT saves")
    shown += _cut_short(results)
    shown += [
        f"warning: {name(result.case)}: {text}" for result in results for text in cautions.warnings(result, metrics)
    ]
    shown += [line for result in results if result.saved for line in _accepted(result, metrics)]
    for outcome in EXPLAINED:
        cases: dict[str, list[str]] = {}
        for result in results:
            if result.outcome is outcome:
                cases.setdefault(explain.message(result, metrics), []).append(name(result.case))
        for message, names in cases.items():
            shown += [f"{outcome}: {', '.join(names)}", *(f"  {line}" for line in message.splitlines())]
    return shown


def _by_metric(results: Sequence[CaseResult], metrics: Metrics) -> list[str]:
    """Regressions first: they are what a reader came for."""
    lines: list[str] = []
    for outcome, meaning in BY_METRIC.items():
        found = [result for result in results if result.outcome is outcome]
        told = [line for result in found for line in _deciding(result, metrics)]
        more = _ways_out(found) if outcome is CaseOutcome.INCONCLUSIVE else ""
        lines += [f"{outcome}: {meaning}{more}", *told] if told else []
    return lines


def _ways_out(results: Sequence[CaseResult]) -> str:
    """What decides a case: more pairs of one that was run in them, more sessions of one held against a baseline."""
    kinds = {bool(result.pairing) for result in results}
    ways = [
        way for is_paired, way in ((True, explain.WAY_OUT_OF_PAIRS), (False, explain.WAY_OUT)) if is_paired in kinds
    ]
    return "".join(f"; {way}" for way in ways)


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


def _accepted(result: CaseResult, metrics: Metrics) -> list[str]:
    """What a saved session differs by from its baseline and anchor: whoever accepts a slip should see it."""
    changed = [verdict for verdict in result.verdicts if verdict.outcome is not VerdictOutcome.EQUIVALENT]
    told = [explain.line(verdict, metrics) for verdict in changed]
    told += [*explain.added_up(result.since_anchor, metrics), *explain.drifted(result.drifting, metrics)]
    return [f"saved: {name(result.case)}: {line}" for line in told]


def _deciding(result: CaseResult, metrics: Metrics) -> list[str]:
    """The metrics behind an outcome; its reasons where there are none."""
    shown = explain.deciding(result, metrics)
    shown += [f"to settle it: {command}"] if (command := explain.settled_by(result, metrics)) else []
    return [f"  {name(result.case)}: {line}" for line in shown or [explain.message(result, metrics)]]


def left_out(cells: Iterable[SkippedCell], *, is_listed: bool) -> list[str]:
    """Cells that make no sense, counted; by reason where they are to be listed, or there is one alone."""
    # Two tests with the same axes leave out the same cells.
    reasons = Counter(reason for _, reason in {(cell.id, cell.reason) for cell in cells})
    if len(reasons) < 2 or is_listed:
        return [f"left out: {count} × {reason}" for reason, count in sorted(reasons.items())]
    return [f"left out: {reasons.total()} cells of the matrix, for {len(reasons)} reasons; -rs lists them"]


def journals(paths: Iterable[str]) -> list[str]:
    """Where every run is recorded."""
    return [f"journal: {path}" for path in sorted(paths) if Path(path).exists()]


def machine(machine: Machine, threads: Sequence[int], scale: str) -> str:
    """One line on where and how it was measured."""
    shown = f"{' and '.join(map(str, threads))} thread{'s' * (max(threads) != 1)}"
    return f"machine {machine.name} ({machine.cpu_model}), {shown}, scale {scale}"
