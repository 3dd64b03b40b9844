"""What a step does, counted: any change is one of the code, because all runs of the same code have the same counts."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from pytest_dlbench.judging.metrics import Metrics
from pytest_dlbench.records import BaselineSession, CaseOutcome, CaseResult, Run
from pytest_dlbench.records.reasons import CountChange, CountsChanged

# Outcomes that a changed count may be the cause of.
CAUSED = (CaseOutcome.REGRESSED, CaseOutcome.SUSPECT)

Counts = Mapping[str, float]


def of_runs(runs: Sequence[Run], metrics: Metrics) -> Counts:
    """The counts on which all of these runs agree; a count that differs between them says nothing about their code."""
    values = {name: {metric.read(run) for run in runs} for name, metric in metrics.items() if metric.is_counted}
    return {name: value for name, (value, *others) in values.items() if value is not None and not others}


def of_session(session: BaselineSession, metrics: Metrics) -> Counts:
    """The same of a stored session."""
    values = {
        name: set(found) for name, found in session.values.items() if name in metrics and metrics[name].is_counted
    }
    return {name: value for name, (value, *others) in values.items() if not others}


def changes(old: Counts, new: Counts) -> tuple[CountChange, ...]:
    """The counts that both sides have and that differ, in the order of the metrics."""
    both = [name for name in new if name in old]
    return tuple(
        CountChange(metric=name, baseline=old[name], candidate=new[name]) for name in both if old[name] != new[name]
    )


def with_changes(result: CaseResult, found: Sequence[CountChange]) -> CaseResult:
    """The result with changed counts: among the reasons of what got worse, and otherwise as a notice."""
    if not found:
        return result
    changed = CountsChanged(changes=tuple(found))
    if result.outcome in CAUSED:
        return replace(result, reasons=(*result.reasons, changed))
    return replace(result, cautions=(*result.cautions, changed))
