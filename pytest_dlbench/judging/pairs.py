"""From pairs of runs to what the rule takes, and from its decisions to verdicts."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import exp, isfinite, log, sqrt
from statistics import median

from pytest_dlbench.judging.intervals import MAD_TO_SD
from pytest_dlbench.judging.metrics import Metric
from pytest_dlbench.judging.sequential import Decision
from pytest_dlbench.records import Run, Verdict, VerdictOutcome

# So many consecutive runs of one version show how far two runs in a row lie apart.
REFERENCE_RUNS = 10
# Runs that agree better than this do so by luck, or by the clock's resolution (log units, percentage points).
SMALLEST_SPREAD = {"ratio": 0.003, "points": 0.05}
# Memory is nearly deterministic.
SMALLEST_SPREADS = {"peak_rss": 0.002}

# One gate on time: what the computation costs, and what its user waits for.
STEP_TIMES = ("step_time", "step_time_median")


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """Two runs back to back."""

    old: Run
    new: Run


def difference(metric: Metric, pair: Pair) -> float:
    """How much worse the new run is: ln(new / old) of what should be low, points lost of what should be high.

    NaN where one of the two is no figure that can be compared, which no rule lets pass.
    """
    old, new = metric.value(pair.old), metric.value(pair.new)
    if not _is_comparable(metric, old) or not _is_comparable(metric, new):
        return float("nan")
    worse = log(new) - log(old) if metric.kind == "ratio" else 100 * (new - old)
    return worse if metric.better == "lower" else -worse


def paired_tolerances(tolerances: Mapping[str, float]) -> dict[str, float]:
    """What pairs are judged on: the usual step too, with the tolerance of the quickest tenth unless it has its own.

    Only pairs can: between sessions neighbours move the median by more than any tolerance.
    """
    quick, usual = STEP_TIMES
    return {usual: tolerances[quick], **tolerances} if quick in tolerances else dict(tolerances)


def limit(metric: Metric, tolerance: float) -> float:
    """A tolerance (0.05 for 5 %, 1.0 for 1 pp) in the unit of the differences."""
    return log(1 + tolerance) if metric.kind == "ratio" else tolerance


def reference_spread(metric: Metric, consecutive: Sequence[float] = ()) -> float:
    """The spread of a pair's difference that is expected: the rule's s0.

    ``consecutive`` are the metric's values in runs of one version, one behind the other on the machine that now
    measures; neighbours' differences leave out what drifts, as pairs do. With fewer than 10 of them what is assumed of
    the metric is the least: too wide a spread costs pairs, too narrow a one costs the error rate.
    """
    scale = [log(value) if metric.kind == "ratio" else 100 * value for value in consecutive]
    steps = [abs(after - before) for before, after in pairwise(scale)]
    smallest = SMALLEST_SPREADS.get(metric.name, SMALLEST_SPREAD[metric.kind])
    measured = max(smallest, MAD_TO_SD * median(steps)) if steps else smallest
    return measured if len(scale) >= REFERENCE_RUNS else max(measured, sqrt(2) * metric.run_sd)


def verdict(metric: Metric, pairs: Sequence[Pair], decision: Decision, tolerance: float) -> Verdict:
    """A decision in the metric's own unit and direction. The figures of the sides are medians of the pairs used."""
    used = pairs[: decision.pairs]
    change, lower, upper = _shown(metric, decision)
    return Verdict(
        metric=metric.name,
        outcome=decision.outcome,
        old=median(metric.value(pair.old) for pair in used),
        new=median(metric.value(pair.new) for pair in used),
        change=change,
        lower=lower,
        upper=upper,
        tolerance=tolerance,
    )


def _shown(metric: Metric, decision: Decision) -> tuple[float, float, float]:
    change, lower, upper = decision.estimate, decision.lower, decision.upper
    if metric.better == "higher":
        change, lower, upper = -change, -upper, -lower
    return (exp(change), exp(lower), exp(upper)) if metric.kind == "ratio" else (change, lower, upper)


def _is_comparable(metric: Metric, value: float) -> bool:
    return isfinite(value) and (value > 0 or metric.kind == "points")


def wants_more(decisions: Mapping[str, Decision]) -> bool:
    """Whether another pair may still decide a metric."""
    return any(not decision.is_final for decision in decisions.values())


def stall(decisions: Mapping[str, Decision]) -> str:
    """What it means that the two step times disagree, in a sentence; empty where they agree or one says nothing.

    The 10 % quantile does not see what delays fewer than 90 % of the steps: waiting for input, collecting garbage. They
    disagree where their verdicts do, and where both changed and their intervals do not meet.
    """
    quick, usual = (decisions[name] for name in STEP_TIMES)
    if VerdictOutcome.INCONCLUSIVE in (quick.outcome, usual.outcome):
        return ""
    told = f"the usual step {usual.outcome}, the quickest tenth {quick.outcome}"
    if _worse(usual) > _worse(quick) or usual.lower > quick.upper:
        return f"a stall: {told}; something now holds up some of the steps"
    if _worse(usual) < _worse(quick) or usual.upper < quick.lower:
        return f"a stall less: {told}; fewer of the steps are held up"
    return ""


def _worse(decision: Decision) -> int:
    return (VerdictOutcome.IMPROVED, VerdictOutcome.EQUIVALENT, VerdictOutcome.REGRESSED).index(decision.outcome)
