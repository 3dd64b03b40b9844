"""The end of a session in the terminal: the reasons for outcomes, what was skipped, where the files are."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from io import StringIO
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from pytest_dlbench.judging import METRICS, Metrics
from pytest_dlbench.records import Case, CaseOutcome, CaseResult, Machine, VerdictOutcome
from pytest_dlbench.records.reasons import (
    Interrupted,
    NotInBaseline,
    NotSaved,
    Portable,
    PortableUnused,
    Saved,
    TooGood,
)
from pytest_dlbench.reporting import cautions, explain, foreign

# Outcomes that may not fail their test, so that its failure would not show the reason.
EXPLAINED = (
    CaseOutcome.DAMAGED_BASELINE,
    CaseOutcome.INVALID,
    CaseOutcome.INCOMPARABLE,
    CaseOutcome.UNSUPPORTED,
    CaseOutcome.SKIPPED,
)
# Outcomes that single metrics decide; those metrics are listed.
BY_METRIC = {
    CaseOutcome.REGRESSED: "worse than the tolerance allows; the failure of the test lists what changed",
    CaseOutcome.SUSPECT: "looks worse, but a stored baseline alone cannot confirm it; paired runs can",
    CaseOutcome.INCONCLUSIVE: "neither regressed nor equivalent",
    CaseOutcome.IMPROVED: "the baseline is stale; --dlbench-save accepts the new figures",
}
MAX_COLUMNS = 500


class _Grid(Table):
    """A table whose cells may have foreign text: a line break in one would start a line of the output."""

    def add_column(self, header: Any = "", *args: Any, **options: Any) -> None:
        super().add_column(foreign.line(header), *args, **options)

    def add_row(self, *cells: Any, **options: Any) -> None:
        super().add_row(*map(foreign.line, cells), **options)


def grid(*left: str, right: Sequence[str]) -> Table:
    """An empty table: columns of text, then columns of figures."""
    empty = _Grid(box=None, padding=(0, 1), pad_edge=False)
    for heading in left:
        empty.add_column(heading, no_wrap=True)
    for heading in right:
        empty.add_column(heading, justify="right", no_wrap=True)
    return empty


def lines(filled: Table) -> list[str]:
    """A table as text, as wide as it needs to be: figures are never truncated."""
    target = StringIO()
    Console(file=target, width=MAX_COLUMNS, no_color=True, highlight=False, markup=False, emoji=False).print(filled)
    return [line.rstrip() for line in target.getvalue().splitlines()]


def name(case: Case) -> str:
    """The name of a case in a table."""
    # The heading has the purpose and the scale; rows do not repeat them.
    place = "".join(f"-{part}" for part in (case.dataset, case.device) if part)
    shortened = case.id.replace(f"{place}-{case.scale}", place) if case.scale else case.id
    return shortened.removeprefix("training-")


def notes(results: Sequence[CaseResult], metrics: Metrics = METRICS) -> list[str]:
    """The reasons for outcomes that may not fail a test; cases with the same reason are listed together."""
    shown = _by_metric(results, metrics)
    shown += _without_baseline(results)
    shown += _portable(results, metrics)
    shown += _cut_short(results)
    shown += [
        f"warning: {name(result.case)}: {text}" for result in results for text in cautions.warnings(result, metrics)
    ]
    shown += [line for result in results if result.saved for line in _accepted(result, metrics)]
    shown += [line for result in results for line in _not_saved(result)]
    for outcome in EXPLAINED:
        cases: dict[str, list[str]] = {}
        for result in results:
            if result.outcome is outcome:
                cases.setdefault(explain.message(result, metrics), []).append(name(result.case))
        for message, names in cases.items():
            shown += [f"{outcome}: {', '.join(names)}", *(f"  {line}" for line in message.splitlines())]
    return shown


def _without_baseline(results: Sequence[CaseResult]) -> Iterator[str]:
    """How many cases have no stored baseline, and those whose baseline lacks what they run."""
    without = [result for result in results if result.outcome is CaseOutcome.NO_BASELINE]
    added = [(result, one) for result in without for one in result.reasons if isinstance(one, NotInBaseline)]
    if unsaved := len(without) - len(added):
        advice = "--dlbench-save --dlbench-reason TEXT saves one"
        yield f"no_baseline: {unsaved} × nothing to compare with; {advice}"
    for result, reason in added:
        yield f"no_baseline: {name(result.case)}: {explain.text(reason)}"


def _portable(results: Sequence[CaseResult], metrics: Metrics) -> Iterator[str]:
    """What portable baselines say about cases without one of their machine class, and which of them were not used."""
    for result in results:
        for reason in result.reasons:
            if isinstance(reason, Portable):
                yield f"portable: {name(result.case)}: {explain.portable(result, metrics)}"
            elif isinstance(reason, PortableUnused):
                differs = "; ".join(map(explain.difference, reason.differences))
                yield f"portable: {name(result.case)}: not compared, because of other conditions: {differs}"


def _by_metric(results: Sequence[CaseResult], metrics: Metrics) -> list[str]:
    """The metrics that decided each outcome, regressions first."""
    gains = [result for result in results if any(isinstance(reason, TooGood) for reason in result.reasons)]
    lines = [line for result in gains for line in _too_good(result)]
    for outcome, meaning in BY_METRIC.items():
        found = [result for result in results if result.outcome is outcome and result not in gains]
        deciding = [line for result in found for line in _deciding(result, metrics)]
        more = _remedies(found) if outcome is CaseOutcome.INCONCLUSIVE else ""
        lines += [f"{outcome}: {meaning}{more}", *deciding] if deciding else []
    return lines


def _too_good(result: CaseResult) -> list[str]:
    """The gain, and what to check."""
    texts = [explain.text(reason) for reason in result.reasons if isinstance(reason, TooGood)]
    return [line for text in texts for line in f"{name(result.case)}: {text}".splitlines()]


def _remedies(results: Sequence[CaseResult]) -> str:
    """What would decide these cases: more pairs for paired runs, more sessions for a stored baseline."""
    kinds = {bool(result.pairing) for result in results if not _is_interrupted(result)}
    remedies = ((True, explain.REMEDY_FOR_PAIRS), (False, explain.REMEDY))
    return "".join(f"; {remedy}" for is_paired, remedy in remedies if is_paired in kinds)


def _is_interrupted(result: CaseResult) -> bool:
    return any(isinstance(reason, Interrupted) for reason in result.reasons)


def _cut_short(results: Sequence[CaseResult]) -> list[str]:
    """Trainings that the scale ended early: their accuracy is not that of the recipe."""
    pairs = Counter(
        (result.case.scale, result.steps, result.recipe_steps) for result in results if "step_time" in result.figures
    )
    return [
        f"scale {scale}: {steps:,} of the recipe's {recipe_steps:,} steps trained in {count} of {len(results)} cases"
        for (scale, steps, recipe_steps), count in pairs.items()
        if steps and recipe_steps and steps < recipe_steps
    ]


def _accepted(result: CaseResult, metrics: Metrics) -> list[str]:
    """How a saved session differs from its baseline and reference session, so that nobody accepts a slip unseen."""
    changed = [verdict for verdict in result.verdicts if verdict.outcome is not VerdictOutcome.EQUIVALENT]
    lines = [explain.line(verdict, metrics) for verdict in changed]
    lines += [*explain.added_up(result.since_anchor, metrics), *explain.drifted(result.drifting, metrics)]
    lines += [explain.text(reason) for reason in result.reasons if isinstance(reason, Saved) and reason.replaced]
    return [f"saved: {name(result.case)}: {line}" for line in lines]


def _not_saved(result: CaseResult) -> list[str]:
    """That a session did not become a baseline, which its outcome does not show."""
    found = [explain.text(reason) for reason in result.reasons if isinstance(reason, NotSaved)]
    return [line for text in found for line in f"{name(result.case)}: {text}".splitlines()]


def _deciding(result: CaseResult, metrics: Metrics) -> list[str]:
    """The metrics that decided an outcome, else its reasons."""
    shown = [*explain.deciding(result, metrics), *explain.causes(result.reasons, metrics)]
    shown += [f"to settle it: {command}"] if (command := explain.settled_by(result, metrics)) else []
    return [f"  {name(result.case)}: {line}" for line in shown or [explain.message(result, metrics)]]


def interrupted(finished: int, cases: int) -> str:
    """One line on a session that was ended; ``cases`` is 0 if their number is not known."""
    return f"interrupted: {finished}{f' of {cases}' if cases else ''} cases finished"


def journals(paths: Iterable[str]) -> list[str]:
    """The journals, which have every run."""
    return [f"journal: {path}" for path in sorted(paths) if Path(path).exists()]


def machine(machine: Machine, threads: Sequence[int], scale: str) -> str:
    """One line on where and how the session measured."""
    shown = f"{' and '.join(map(str, threads))} thread{'s' * (max(threads) != 1)}"
    return f"machine {machine.name} ({machine.cpu_model}), {shown}, scale {scale}"
