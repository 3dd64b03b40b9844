"""From pairs of runs to the differences that the rule takes, and from its decisions to verdicts."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from math import sqrt
from statistics import median
from typing import Literal

from pytest_dlbench.judging.alpha_spending import LEAST_ALPHA
from pytest_dlbench.judging.alternation import cpu_is_witness, cpu_ratio, is_alternating, wall_ratio
from pytest_dlbench.judging.intervals import MAD_TO_SD
from pytest_dlbench.judging.metric import Metric
from pytest_dlbench.judging.metrics import Metrics
from pytest_dlbench.judging.scales import badness, limit, shown, smallest_spread
from pytest_dlbench.judging.sequential import Decision, Rule, decide
from pytest_dlbench.records import Run, Verdict, VerdictOutcome

# Enough consecutive runs of one version to estimate how much two runs in a row differ.
REFERENCE_RUNS = 10
# Time is judged twice: the cost of the computation, and the time that a user waits.
STEP_TIMES = ("step_time", "step_time_median")
# The differences of pairs whose steps alternate, of wall time and of processor time (measured: 0.6 to 2.7 % and 0.7 to
# 1.7 %, the larger ones with other processes on the same core).
ALTERNATING_SPREAD = 0.015


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """Two runs back to back."""

    old: Run
    new: Run


def difference(metric: Metric, pair: Pair) -> float:
    """How much worse the candidate's run is; NaN if one of the two figures cannot be compared.

    For an absolute metric, how bad it is by itself. Step times are compared step by step where the steps alternated.
    """
    if metric.name in STEP_TIMES and is_alternating(pair.old, pair.new):
        return wall_ratio(pair.old, pair.new)
    if metric.is_absolute:
        return badness(metric, metric.figure(pair.new))
    return badness(metric, metric.figure(pair.new)) - badness(metric, metric.figure(pair.old))


def paired_tolerances(tolerances: Mapping[str, float]) -> dict[str, float]:
    """Tolerances for pairs: they also judge the median step, by default with the tolerance of the 10 % quantile.

    Only pairs can: between sessions other processes move the median by more than any tolerance.
    """
    quick, usual = STEP_TIMES
    return {usual: tolerances[quick], **tolerances} if quick in tolerances else dict(tolerances)


def reference_spread(metric: Metric, consecutive: Sequence[float] = ()) -> float:
    """The expected spread of a pair's difference: the rule's s0.

    ``consecutive`` are the metric's values in consecutive runs of one version on this machine; differences between
    neighbours exclude drift, as pairs do. With fewer than 10 of them, the metric's assumed spread is the minimum: too
    large a spread costs pairs, too small a one raises the error rate.
    """
    values = [badness(metric, value) for value in consecutive]
    steps = [abs(after - before) for before, after in pairwise(values)]
    measured = max(smallest_spread(metric), MAD_TO_SD * median(steps) if steps else 0.0)
    assumed = metric.run_sd if metric.is_absolute else sqrt(2) * metric.run_sd
    return measured if len(values) >= REFERENCE_RUNS else max(measured, assumed)


def having(metric: Metric, pairs: Sequence[Pair]) -> list[Pair]:
    """The pairs that have an absolute metric, because some runs may be too short; for any other metric, all pairs."""
    return [pair for pair in pairs if not metric.is_absolute or metric.read(pair.new) is not None]


def has_metric(metric: Metric, pair: Pair) -> bool:
    """Whether a pair has the metric on at least one side: losing it on the other is no reason not to judge it."""
    sides = (pair.new,) if metric.is_absolute else (pair.old, pair.new)
    return any(metric.read(run) is not None for run in sides)


def verdict(metric: Metric, pairs: Sequence[Pair], decision: Decision, tolerance: float) -> Verdict:
    """A decision in the metric's own unit and direction. The sides' figures are medians over the pairs used."""
    used = having(metric, pairs)[: decision.pairs]
    change, lower, upper = shown(metric, decision.estimate, decision.lower, decision.upper)
    return Verdict(
        metric=metric.name,
        outcome=decision.outcome,
        old=0.0 if metric.is_absolute else median(metric.figure(pair.old) for pair in used),
        new=median(metric.figure(pair.new) for pair in used),
        change=change,
        lower=lower,
        upper=upper,
        tolerance=tolerance,
        is_of_cpu=decision.is_of_cpu,
    )


def rules(tolerances: Mapping[str, float], metrics: Metrics, *, max_pairs: int) -> dict[str, Rule]:
    """The rule of each metric that is judged, at the level of a single comparison."""
    return {
        name: Rule(
            tolerance=limit(metrics[name], tolerance),
            max_pairs=max_pairs,
            is_one_sided=metrics[name].kind == "points",
        )
        for name, tolerance in paired_tolerances(tolerances).items()
    }


def decide_all(
    pairs: Sequence[Pair], rules: Mapping[str, Rule], spreads: Mapping[str, float], metrics: Metrics
) -> dict[str, Decision]:
    """The decision on each metric after the pairs so far; ``spreads`` are the reference spreads."""
    return {
        name: _by_steps(pairs, rule)
        if name in STEP_TIMES and all(is_alternating(pair.old, pair.new) for pair in pairs)
        else decide([difference(metrics[name], pair) for pair in having(metrics[name], pairs)], spreads[name], rule)
        for name, rule in rules.items()
    }


def _by_steps(pairs: Sequence[Pair], rule: Rule) -> Decision:
    """The decision on a step time whose steps alternated: by wall time, or by processor time where that is undecided.

    Either may err, so each has half of the level.
    """
    if not pairs or not all(cpu_is_witness(pair.old, pair.new) for pair in pairs):
        return decide([wall_ratio(pair.old, pair.new) for pair in pairs], ALTERNATING_SPREAD, rule)
    half = replace(rule, alpha=max(rule.alpha / 2, LEAST_ALPHA))
    wall = decide([wall_ratio(pair.old, pair.new) for pair in pairs], ALTERNATING_SPREAD, half)
    if wall.outcome is not VerdictOutcome.INCONCLUSIVE:
        return wall
    cpu = decide([cpu_ratio(pair.old, pair.new) for pair in pairs], ALTERNATING_SPREAD, half)
    return wall if cpu.outcome is VerdictOutcome.INCONCLUSIVE else replace(cpu, is_of_cpu=True)


def wants_more(decisions: Mapping[str, Decision]) -> bool:
    """Whether another pair may still decide a metric."""
    return any(not decision.is_final for decision in decisions.values())


def stall(decisions: Mapping[str, Decision]) -> Literal["", "worse", "better"]:
    """Whether more or fewer steps are held up, where the two step times disagree; empty where they do not.

    The 10 % quantile does not see what delays fewer than 90 % of the steps: waiting for input, collecting garbage. They
    disagree where their verdicts do, and where both changed and their intervals do not meet.
    """
    quick, usual = (decisions[name] for name in STEP_TIMES)
    if VerdictOutcome.INCONCLUSIVE in (quick.outcome, usual.outcome):
        return ""
    if _worse(usual) > _worse(quick) or usual.lower > quick.upper:
        return "worse"
    if _worse(usual) < _worse(quick) or usual.upper < quick.lower:
        return "better"
    return ""


def _worse(decision: Decision) -> int:
    return (VerdictOutcome.IMPROVED, VerdictOutcome.EQUIVALENT, VerdictOutcome.REGRESSED).index(decision.outcome)
