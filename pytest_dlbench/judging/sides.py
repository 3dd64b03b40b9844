"""Compares two recorded sessions of one case, by the rule of a stored baseline."""

from collections.abc import Mapping

from pytest_dlbench.errors import DlbenchError
from pytest_dlbench.judging import absolute
from pytest_dlbench.judging.comparable import FEWEST_RUNS, obstacles
from pytest_dlbench.judging.metrics import Metrics, read_all
from pytest_dlbench.judging.outcomes import of_runs, of_verdicts
from pytest_dlbench.judging.reasons import invalid, unfinished, unlikely
from pytest_dlbench.judging.stored_baseline import appended, compare, missing, session_of
from pytest_dlbench.judging.verdicts import measured
from pytest_dlbench.records import Baseline, CaseOutcome, Record, RunOutcome, Verdict
from pytest_dlbench.records.reasons import Incomparable, Missing, Reason, Side, TooFew, Unavailable

# What a case may be that was judged by every metric.
PASSING = (CaseOutcome.PASSED, CaseOutcome.IMPROVED)


def refusal(record: Record, side: Side = "") -> Reason | None:
    """Why the runs of a record are no figures to compare with, if they are not."""
    if of_runs(record.runs):
        return unfinished(next(run for run in record.runs if run.outcome is not RunOutcome.FINISHED), side)
    if len(record.runs) < FEWEST_RUNS:
        return TooFew(runs=len(record.runs), needed=FEWEST_RUNS)
    if any(run.invalid for run in record.runs):
        return invalid({side: record.runs})
    return None


Compared = tuple[CaseOutcome, tuple[Verdict, ...], tuple[Reason, ...]]
"""The outcome of the candidate, a verdict for each metric, and the reasons where a metric has none."""


def compare_sides(old: Record, new: Record, tolerances: Mapping[str, float], metrics: Metrics) -> Compared:
    """The candidate compared with the other side, and judged by the metrics that need none.

    A metric that only one side has is not judged: the case is then at best inconclusive, or incomparable if it is the
    candidate's.
    """
    outcome, verdicts, reasons = _compared(old, new, tolerances, metrics)
    if refusal(new):
        return outcome, verdicts, reasons
    own = absolute.judge(outcome, new.runs, tolerances, metrics)
    return own.outcome, (*verdicts, *own.verdicts), (*reasons, *own.unshown)


def _compared(old: Record, new: Record, tolerances: Mapping[str, float], metrics: Metrics) -> Compared:
    refused = refusal(new, "candidate")
    if (outcome := of_runs(new.runs)) and refused:
        return outcome, (), (refused,)
    if reasons := tuple(reason for reason in (refusal(old, "baseline"), refused) if reason):
        return CaseOutcome.INCOMPARABLE, (), reasons
    if differences := obstacles(old.context, new.context):
        return CaseOutcome.INCOMPARABLE, (), (Incomparable(differences=differences),)
    before, after = (_as_baseline(record, metrics) for record in (old, new))
    lost = missing(before, new.runs, tolerances, metrics)
    # Of absolute metrics, the other side does not matter.
    gained = [name for name in missing(after, old.runs, tolerances, metrics) if not metrics[name].is_absolute]
    common = {name: amount for name, amount in tolerances.items() if name not in (*lost, *gained)}
    try:
        _check(old, common, metrics)
        verdicts = compare(before, new.runs, common, metrics).verdicts
    except DlbenchError as error:
        return CaseOutcome.INCOMPARABLE, (), (Unavailable(problem=str(error)),)
    outcome = of_verdicts(verdicts)
    if outcome in PASSING and (lost or gained):
        outcome = CaseOutcome.INCOMPARABLE if gained else CaseOutcome.INCONCLUSIVE
    lacking: dict[Side, tuple[str, ...]] = {"candidate": lost, "baseline": tuple(gained)}
    absent = tuple(Missing(metrics=names, side=side) for side, names in lacking.items() if names)
    return outcome, verdicts, (*unlikely(verdicts, metrics), *absent)


def _as_baseline(record: Record, metrics: Metrics) -> Baseline:
    """A baseline of this session alone."""
    session = session_of(record, name="old", saved=record.runs[0].began, reason="", metrics=metrics)
    return appended(None, record, session)


def _check(record: Record, tolerances: Mapping[str, float], metrics: Metrics) -> None:
    """Raise DlbenchError for a figure that cannot be compared: that of a baseline would advise to restore a file."""
    figures = read_all(record.runs)
    for name in tolerances:
        if name in figures and not metrics[name].is_absolute:
            measured(record.runs, metrics[name], figures)
