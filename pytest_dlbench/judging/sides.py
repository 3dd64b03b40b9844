"""Compares two recorded sessions of one case, by the rule of a stored baseline."""

from collections.abc import Mapping

from pytest_dlbench.judging.comparable import FEWEST_RUNS, obstacles
from pytest_dlbench.judging.metrics import Metrics
from pytest_dlbench.judging.outcomes import of_runs, of_verdicts
from pytest_dlbench.judging.stored_baseline import appended, compare, session_of
from pytest_dlbench.records import CaseOutcome, Record, Verdict


def refusal(record: Record) -> str:
    """Why the runs of a record are no figures to compare with, or the empty string."""
    if outcome := of_runs(record.runs):
        return f"{outcome}: not all runs finished"
    if len(record.runs) < FEWEST_RUNS:
        return f"{len(record.runs)} of {FEWEST_RUNS} runs that a comparison needs"
    if invalid := [reason for run in record.runs for reason in run.invalid]:
        return f"the machine spoiled it: {invalid[0]}"
    return ""


def compare_sides(
    old: Record, new: Record, tolerances: Mapping[str, float], metrics: Metrics
) -> tuple[CaseOutcome, tuple[Verdict, ...], tuple[str, ...]]:
    """The outcome of the new side, a verdict for each metric, and where there are none the reasons."""
    if outcome := of_runs(new.runs):
        return outcome, (), ("not all of the new runs finished",)
    reasons = tuple(reason for reason in (refusal(old), refusal(new)) if reason)
    reasons = reasons or obstacles(old.context, new.context)
    if reasons:
        return CaseOutcome.INCOMPARABLE, (), reasons
    session = session_of(old, name="old", saved=old.runs[0].began, reason="", metrics=metrics)
    verdicts = compare(appended(None, old, session), new.runs, tolerances, metrics).verdicts
    return of_verdicts(verdicts), verdicts, ()
