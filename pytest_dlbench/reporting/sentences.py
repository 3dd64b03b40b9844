"""Plain sentences about one cell: which framework takes how many times as long, and what a comparison found."""

from collections.abc import Sequence

from pytest_dlbench.judging import METRICS, Metrics
from pytest_dlbench.judging.intervals import Interval
from pytest_dlbench.records import CaseOutcome, CaseResult, Verdict, VerdictOutcome
from pytest_dlbench.reporting import figures

# More slower frameworks than this are a range, not a list.
MOST_NAMED = 4
# Ratios in this range are called equal if their interval is within it too.
ABOUT_EQUAL = 1.1
# What is timed, by the metric that judges it.
TIMED = {name: metric.timed for name, metric in METRICS.items() if metric.timed}
MOST_METRICS = 3
# Whatever a portable baseline says about their accuracy.
WITHOUT_BASELINE = (CaseOutcome.NO_BASELINE, CaseOutcome.INCOMPARABLE)
# Two of two digits, whatever the binary fraction.
LARGE = 1.995
FOUND = {
    VerdictOutcome.REGRESSED: "regressed",
    VerdictOutcome.SUSPECT: "suspect",
    VerdictOutcome.IMPROVED: "improved",
    VerdictOutcome.INCONCLUSIVE: "inconclusive",
}


def of_frameworks(quickest: str, others: Sequence[tuple[str, Interval]], timed: str) -> str:
    """How long the other frameworks of a cell take; intervals are of their time over that of the quickest."""
    if len(others) == 1:
        return _of_two(quickest, *others[0], timed)
    slower = [(name, found) for name, found in others if found.lower > 1]
    equal = [(name, found) for name, found in others if found.lower <= 1]
    if len(slower) <= MOST_NAMED:
        longer = [f"{name} takes {_times(found)} as long {_span(found)}" for name, found in slower]
    else:
        (first, least), (last, most) = slower[0], slower[-1]
        longer = [f"{len(slower)} others take {_times(least)} ({first}) to {_times(most)} ({last}) as long"]
    open_ones = [f"not decided for {name}, {_times(found)} as long {_span(found)}" for name, found in equal]
    if len(equal) > MOST_NAMED:
        open_ones = [f"not decided for {len(equal)} others, up to {_times(equal[-1][1])} as long ({equal[-1][0]})"]
    return "; ".join([f"{quickest} takes the shortest {timed}", *longer, *open_ones])


def _of_two(quickest: str, other: str, found: Interval, timed: str) -> str:
    if found.lower > 1:
        return f"{other} takes {_times(found)} as long a {timed} as {quickest} {_span(found)}"
    if found.upper <= ABOUT_EQUAL and found.lower >= 1 / ABOUT_EQUAL:
        return f"{other} and {quickest} take about as long a {timed}: {_times(found)} {_span(found)}"
    return (
        f"{other} takes {_times(found)} as long a {timed} as {quickest} in these runs, but they vary too much to decide"
        f" {_span(found)}"
    )


def of_comparison(result: CaseResult, name: str, baseline: str, metrics: Metrics = METRICS) -> str:
    """What a case's comparison found: the metrics that decided it, else its time; empty if it has no verdict."""
    compared = [verdict for verdict in result.verdicts if not _is_absolute(verdict, metrics)]
    timed = [verdict for verdict in compared if verdict.metric in TIMED]
    chosen = _deciding(result) or timed or compared
    return "; ".join(
        f"{_change(one, name, baseline, metrics)}: {_found(one, metrics)}" for one in chosen[:MOST_METRICS]
    )


def change_of(result: CaseResult, name: str, baseline: str, metrics: Metrics = METRICS) -> str:
    """The first change that decided it; empty if none did."""
    return next((_change(one, name, baseline, metrics) for one in _deciding(result)), "")


def _deciding(result: CaseResult) -> Sequence[Verdict]:
    """The verdicts of its outcome, the time of a step or batch first."""
    found = [verdict for verdict in result.verdicts if verdict.outcome.value == result.outcome.value]
    return sorted(found, key=lambda verdict: verdict.metric not in TIMED)


def _found(verdict: Verdict, metrics: Metrics) -> str:
    return FOUND.get(verdict.outcome, f"no change beyond {figures.tolerance(verdict, metrics)}")


def compared(result: CaseResult, metrics: Metrics = METRICS) -> bool:
    """Whether a case was compared with something on which its outcome depends: a leak is judged alone."""
    judged = any(not _is_absolute(verdict, metrics) for verdict in result.verdicts)
    return judged and result.outcome not in WITHOUT_BASELINE


def _is_absolute(verdict: Verdict, metrics: Metrics) -> bool:
    return verdict.metric in metrics and metrics[verdict.metric].is_absolute


def _change(verdict: Verdict, name: str, baseline: str, metrics: Metrics) -> str:
    metric = metrics.get(verdict.metric)
    heading = metric.heading if metric else verdict.metric
    if metric and metric.is_absolute:
        return f"{heading} of {name} {figures.side(verdict.metric, verdict.new, metrics)}"
    if metric is None or verdict.change is None or verdict.lower is None or verdict.upper is None:
        old, new = (figures.side(verdict.metric, value, metrics) for value in (verdict.old, verdict.new))
        return f"{heading} of {name} {old} → {new}, compared with {baseline}"
    if metric.kind == "points":
        return f"{heading} of {name} differs by {figures.change(verdict, metrics)} from {baseline}"
    found = Interval(estimate=verdict.change, lower=verdict.lower, upper=verdict.upper)
    if verdict.metric in TIMED:
        return f"{name} takes {_times(found)} as long a {TIMED[verdict.metric]} as {baseline} {_span(found)}"
    return f"{heading} of {name} is {_times(found)} that of {baseline} {_span(found)}"


def _times(found: Interval) -> str:
    return f"{_ratio(found.estimate, found)} times"


def _span(found: Interval) -> str:
    return f"[{_ratio(found.lower, found)}, {_ratio(found.upper, found)}]"


def _ratio(value: float, of: Interval) -> str:
    """Two digits of large ratios; close to 1 they would hide the difference."""
    return figures.significant(value, 2 if of.estimate >= LARGE else 3)
