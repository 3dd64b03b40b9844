"""Compares two recorded sessions of one case, by the rule of a stored baseline."""

from collections.abc import Mapping

from pytest_dlbench.judging.comparable import FEWEST_RUNS, obstacles
from pytest_dlbench.judging.metrics import Metrics
from pytest_dlbench.judging.outcomes import of_runs, of_verdicts
from pytest_dlbench.judging.reasons import invalid, unfinished, unlikely
from pytest_dlbench.judging.stored_baseline import appended, compare, session_of, unstored
from pytest_dlbench.records import CaseOutcome, Record, RunOutcome, Verdict
from pytest_dlbench.records.reasons import Incomparable, NotStored, Reason, Side, TooFew


def refusal(record: Record, side: Side = "") -> Reason | None:
    """Why the runs of a record are no figures to compare with, if they are not."""
    if of_runs(record.runs):
        return unfinished(next(run for run in record.runs if run.outcome is not RunOutcome.FINISHED), side)
    if len(record.runs) < FEWEST_RUNS:
        return TooFew(runs=len(record.runs), needed=FEWEST_RUNS)
    if any(run.invalid for run in record.runs):
        return invalid({side: record.runs})
    return None


def compare_sides(
    old: Record, new: Record, tolerances: Mapping[str, float], metrics: Metrics
) -> tuple[CaseOutcome, tuple[Verdict, ...], tuple[Reason, ...]]:
    """The outcome of the candidate, a verdict for each metric, and where there are none the reasons."""
    refused = refusal(new, "candidate")
    if (outcome := of_runs(new.runs)) and refused:
        return outcome, (), (refused,)
    if reasons := tuple(reason for reason in (refusal(old, "baseline"), refused) if reason):
        return CaseOutcome.INCOMPARABLE, (), reasons
    if differences := obstacles(old.context, new.context):
        return CaseOutcome.INCOMPARABLE, (), (Incomparable(differences=differences),)
    session = session_of(old, name="old", saved=old.runs[0].began, reason="", metrics=metrics)
    baseline = appended(None, old, session)
    verdicts = compare(baseline, new.runs, tolerances, metrics).verdicts
    outcome, reasons = of_verdicts(verdicts), unlikely(verdicts, metrics)
    if not (lacking := unstored(baseline, new.runs, tolerances, metrics)):
        return outcome, verdicts, reasons
    is_fine = outcome in (CaseOutcome.PASSED, CaseOutcome.IMPROVED)
    return CaseOutcome.INCONCLUSIVE if is_fine else outcome, verdicts, (*reasons, NotStored(metrics=lacking))
