"""From pairs of runs to what the rule takes, and from its decisions to verdicts."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import sqrt
from statistics import median
from typing import Literal

from pytest_dlbench.judging.intervals import MAD_TO_SD
from pytest_dlbench.judging.metric import Metric
from pytest_dlbench.judging.metrics import Metrics
from pytest_dlbench.judging.scales import badness, limit, shown, smallest_spread
from pytest_dlbench.judging.sequential import Decision, Rule, decide
from pytest_dlbench.records import Run, Verdict, VerdictOutcome

# So many consecutive runs of one version show how far two runs in a row lie apart.
REFERENCE_RUNS = 10
# One gate on time: what the computation costs, and what its user waits for.
STEP_TIMES = ("step_time", "step_time_median")


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """Two runs back to back."""

    old: Run
    new: Run


def difference(metric: Metric, pair: Pair) -> float:
    """How much worse the new run is; NaN where one of the two is no figure that can be compared.

    Of an absolute metric, how bad it is by itself.
    """
    if metric.is_absolute:
        return badness(metric, metric.figure(pair.new))
    return badness(metric, metric.figure(pair.new)) - badness(metric, metric.figure(pair.old))


def paired_tolerances(tolerances: Mapping[str, float]) -> dict[str, float]:
    """What pairs are judged on: the usual step too, with the tolerance of the quickest tenth unless it has its own.

    Only pairs can: between sessions neighbours move the median by more than any tolerance.
    """
    quick, usual = STEP_TIMES
    return {usual: tolerances[quick], **tolerances} if quick in tolerances else dict(tolerances)


def reference_spread(metric: Metric, consecutive: Sequence[float] = ()) -> float:
    """The spread of a pair's difference that is expected: the rule's s0.

    ``consecutive`` are the metric's values in runs of one version, one behind the other on the machine that now
    measures; neighbours' differences leave out what drifts, as pairs do. With fewer than 10 of them what is assumed of
    the metric is the least: too wide a spread costs pairs, too narrow a one costs the error rate.
    """
    values = [badness(metric, value) for value in consecutive]
    steps = [abs(after - before) for before, after in pairwise(values)]
    measured = max(smallest_spread(metric), MAD_TO_SD * median(steps) if steps else 0.0)
    assumed = metric.run_sd if metric.is_absolute else sqrt(2) * metric.run_sd
    return measured if len(values) >= REFERENCE_RUNS else max(measured, assumed)


def having(metric: Metric, pairs: Sequence[Pair]) -> list[Pair]:
    """The pairs that tell an absolute metric, for some runs may be too short to; of any other metric, all."""
    return [pair for pair in pairs if not metric.is_absolute or metric.read(pair.new) is not None]


def is_told(metric: Metric, pair: Pair) -> bool:
    """Whether such a pair has the metric at all. One side that lost it is no reason not to judge it."""
    sides = (pair.new,) if metric.is_absolute else (pair.old, pair.new)
    return any(metric.read(run) is not None for run in sides)


def verdict(metric: Metric, pairs: Sequence[Pair], decision: Decision, tolerance: float) -> Verdict:
    """A decision in the metric's own unit and direction. The figures of the sides are medians of the pairs used."""
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
    """What the pairs so far say of each metric; ``spreads`` are the reference spreads."""
    return {
        name: decide([difference(metrics[name], pair) for pair in having(metrics[name], pairs)], spreads[name], rule)
        for name, rule in rules.items()
    }


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
