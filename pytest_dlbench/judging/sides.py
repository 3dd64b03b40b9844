"""Two recorded sessions of one case against each other, by the rule of a stored baseline."""

from collections.abc import Mapping

from pytest_dlbench.judging.comparable import FEWEST_RUNS, obstacles
from pytest_dlbench.judging.metrics import read_all
from pytest_dlbench.judging.outcomes import of_runs, of_verdicts
from pytest_dlbench.judging.verdicts import compare
from pytest_dlbench.records import Baseline, CaseOutcome, Record, Verdict


def accepted(record: Record, *, reason: str, saved: str) -> Baseline:
    """The runs of a record as a baseline; they must have finished. ``saved`` is a time in ISO 8601."""
    return Baseline(
        case=record.case,
        context=record.context,
        recipe=record.recipe,
        versions=record.runs[0].versions,
        seeds=tuple(run.seed for run in record.runs),
        metrics=read_all(record.runs),
        saved=saved,
        reason=reason,
    )


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
    old: Record, new: Record, tolerances: Mapping[str, float]
) -> tuple[CaseOutcome, tuple[Verdict, ...], tuple[str, ...]]:
    """The outcome of the new side, a verdict for each metric, and where there are none the reasons."""
    if outcome := of_runs(new.runs):
        return outcome, (), ("not all of the new runs finished",)
    reasons = tuple(reason for reason in (refusal(old), refusal(new)) if reason)
    reasons = reasons or obstacles(old.context, new.context)
    if reasons:
        return CaseOutcome.INCOMPARABLE, (), reasons
    verdicts = compare(accepted(old, reason="", saved=old.runs[0].began), new.runs, tolerances)
    return of_verdicts(verdicts), verdicts, ()
