"""The last line of a session: the outcomes of its cases, and how many false alarms its comparisons allow."""

from collections import Counter
from collections.abc import Sequence

from pytest_dlbench.judging import METRICS, Metrics
from pytest_dlbench.records import CaseOutcome, CaseResult

# In the order of the counts.
WORST_FIRST = (
    CaseOutcome.REGRESSED,
    *(outcome for outcome in CaseOutcome if outcome not in (CaseOutcome.REGRESSED, CaseOutcome.PASSED)),
    CaseOutcome.PASSED,
)


def counts(results: Sequence[CaseResult]) -> str:
    """How many cases had each outcome, the worst first."""
    found = Counter(result.outcome for result in results)
    return ", ".join(f"{found[outcome]} {outcome}" for outcome in WORST_FIRST if found[outcome]) or "no case was run"


def line(
    results: Sequence[CaseResult],
    budget: float,
    repeated: Sequence[CaseResult] = (),
    metrics: Metrics = METRICS,
    unmeasured: int = 0,
) -> str:
    """The counts, and the false-alarm rate: ``budget`` is the share of sessions that --dlbench-false-alarms allows.

    The confirmations of paired runs share the budget. Metrics compared with a stored baseline are judged one by one,
    and counted separately. A session without comparisons has counts only. ``repeated`` are attempts that a rerun
    replaced: they are judged, but not counted as cases. ``unmeasured`` tests failed before a case had a result.
    """
    from pytest_dlbench.judging.verdicts import ALPHA  # noqa: PLC0415 - imports NumPy

    judged = (*results, *repeated)
    more = f", {unmeasured} failed without a result" if unmeasured else ""
    parts = [f"dlbench: {counts(results)}{more}"]
    if pairings := [result.pairing for result in judged if result.pairing]:
        spent = sum(pairing.alpha for pairing in pairings)
        parts.append(f"false alarms: {_percent(spent)} of {_percent(budget)} used")
    if stored := sum(_compared(result, metrics) for result in judged if not result.pairing):
        parts.append(f"{stored} metrics compared with baselines (false alarms ≤ {_percent(ALPHA)} each)")
    return "; ".join(parts)


def _compared(result: CaseResult, metrics: Metrics) -> int:
    return sum(not metrics[verdict.metric].is_absolute for verdict in result.verdicts)


def _percent(share: float) -> str:
    return f"{100 * share:.2g}%"
