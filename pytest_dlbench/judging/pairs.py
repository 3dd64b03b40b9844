"""From pairs of runs to the differences that the rule takes, and from its decisions to verdicts."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from math import inf, isfinite, log, sqrt
from statistics import median
from typing import Literal

import numpy as np

from pytest_dlbench.errors import DlbenchError
from pytest_dlbench.judging.alpha_spending import LEAST_ALPHA
from pytest_dlbench.judging.alternation import (
    cpu_is_witness,
    cpu_ratio,
    is_alternating,
    may_compute_alone,
    wall_ratio,
)
from pytest_dlbench.judging.intervals import MAD_TO_SD, QUARTILE_TO_SD
from pytest_dlbench.judging.metric import Metric
from pytest_dlbench.judging.metrics import Metrics
from pytest_dlbench.judging.sanity import believed
from pytest_dlbench.judging.scales import badness, limit, shown, smallest_spread
from pytest_dlbench.judging.sequential import Decision, Rule, decide
from pytest_dlbench.records import Run, Verdict, VerdictOutcome
from pytest_dlbench.records.reasons import SidesDisagree

# Enough consecutive runs of one version to estimate how much two runs in a row differ.
REFERENCE_RUNS = 10
# Time is read twice: the cost of the computation, and the time that a user waits.
STEP_TIMES = ("step_time", "step_time_median")
# The time of a batch, by the metrics that decide; the first one's tolerance is that of the throughput.
OF_BATCHES = (*STEP_TIMES, "latency")
# Each of these may be decided at once.
TIMES = (*OF_BATCHES, "throughput")
# Smaller differences between the two, as a share of the tolerance, are lost in three digits.
SHOWN_SHARE = 0.1
# The differences of pairs whose steps alternate, of wall time and of processor time (measured: 0.6 to 2.7 % and 0.7 to
# 1.7 %, the larger ones with other processes on the same core).
ALTERNATING_SPREAD = 0.015
# Where every other process is 8 % slower, four pairs are all of the kind that hides a slowdown 0.4 % of the time, and
# five 0.1 % of the time.
PAIRS_TO_CLEAR = 5
Decide = Callable[[Sequence[float], float, Rule], Decision]


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """Two runs back to back."""

    old: Run
    new: Run


@dataclass(frozen=True, slots=True, kw_only=True)
class StepSpread:
    """The expected spread of the differences in step time between runs whose steps alternate.

    It is assumed unless ``pairs`` earlier pairs showed it.
    """

    spread: float = ALTERNATING_SPREAD
    pairs: int = 0


def per_example(tolerances: Mapping[str, float]) -> dict[str, float]:
    """The tolerances for two sides whose batches differ in size: of samples per second, in place of a batch's time."""
    others = {name: amount for name, amount in tolerances.items() if name not in OF_BATCHES}
    times = [tolerances[name] for name in OF_BATCHES if name in tolerances]
    return {"throughput": times[0], **others} if times else others


def difference(metric: Metric, pair: Pair) -> float:
    """How much worse the candidate's run is; NaN if one of the two figures cannot be compared.

    For an absolute metric, how bad it is by itself. Step times are compared step by step where the steps alternated.
    """
    if takes_turns(metric, pair):
        return wall_ratio(pair.old, pair.new)
    if metric.is_absolute:
        return badness(metric, metric.figure(pair.new))
    return badness(metric, metric.figure(pair.new)) - badness(metric, metric.figure(pair.old))


def reported(tolerances: Mapping[str, float]) -> dict[str, float]:
    """Tolerances of metrics that pairs report and that do not decide: the median step, unless it has its own.

    Other processes move the median far more than the 10 % quantile: on a busy machine it would leave most cases
    undecided, and it caused nearly all false alarms.
    """
    quick, usual = STEP_TIMES
    return {usual: tolerances[quick]} if quick in tolerances and usual not in tolerances else {}


def reference_values(metric: Metric, reference: Sequence[Run]) -> list[float]:
    """The values of a metric in consecutive runs; raises DlbenchError for one that cannot be compared.

    It would seem to be no spread at all.
    """
    for run in reference:
        value = metric.read(run)
        if value is not None and not isfinite(badness(metric, value)):
            raise DlbenchError(
                f"{run.case}: its {len(reference)} reference runs cannot show how much runs vary: {metric.name} is"
                f" {value} in the run of seed {run.seed} that began {run.began}\n"
                "  measure them again with --dlbench-runs=10, or remove their journal from --dlbench-journals"
            )
    return metric.values(reference)


def widest(metric: Metric, consecutive: Sequence[float]) -> float:
    """How far the values of a metric in runs of one version are apart."""
    values = [badness(metric, value) for value in consecutive]
    return max(values) - min(values)


def reference_spread(metric: Metric, consecutive: Sequence[float] = ()) -> float:
    """The expected spread of a pair's difference: the rule's s0.

    ``consecutive`` are the metric's values in consecutive runs of one version on this machine; differences between
    neighbours exclude drift, as pairs do. With fewer than 10 of them, the metric's assumed spread is the minimum: too
    large a spread costs pairs, too small a one raises the error rate. Raises ValueError for a value that cannot be
    compared.
    """
    values = [badness(metric, value) for value in consecutive]
    if not all(map(isfinite, values)):
        raise ValueError(f"expected comparable reference values of {metric.name}, got {list(consecutive)}")
    steps = [abs(after - before) for before, after in pairwise(values)]
    measured = max(smallest_spread(metric), _spread_of(steps) if steps else 0.0)
    return measured if len(values) >= REFERENCE_RUNS else max(measured, assumed_spread(metric))


def assumed_spread(metric: Metric) -> float:
    """The spread of a pair's difference where no run has shown it."""
    return metric.run_sd if metric.is_absolute else sqrt(2) * metric.run_sd


def _spread_of(steps: Sequence[float]) -> float:
    """The standard deviation that such steps have: from their median, or if that is more from their upper quartile.

    Where processes are of two kinds, half of the steps may be small.
    """
    return max(MAD_TO_SD * median(steps), float(np.quantile(steps, 0.75)) * QUARTILE_TO_SD)


def having(metric: Metric, pairs: Sequence[Pair]) -> list[Pair]:
    """The pairs that have an absolute metric, because some runs may be too short; for any other metric, all pairs."""
    return [pair for pair in pairs if not metric.is_absolute or metric.read(pair.new) is not None]


def is_on_one_path(pair: Pair) -> bool:
    """Whether both runs had the same loss in every step, to the last digit: then they learned the same.

    Programs need not report losses: without any, nothing shows it.
    """
    old, new = pair.old.training, pair.new.training
    return old is not None and new is not None and bool(old.losses) and old.losses == new.losses


def has_metric(metric: Metric, pair: Pair) -> bool:
    """Whether a pair has the metric on at least one side: losing it on the other is no reason not to judge it."""
    sides = (pair.new,) if metric.is_absolute else (pair.old, pair.new)
    return any(metric.read(run) is not None for run in sides)


def verdict(
    metric: Metric, pairs: Sequence[Pair], decision: Decision, tolerance: float, *, decides: bool = True
) -> Verdict:
    """A decision in the metric's own unit and direction.

    The sides' figures are medians over the pairs used, of the runs that have the metric.
    """
    used = having(metric, pairs)[: decision.pairs]
    change, lower, upper = shown(metric, decision.estimate, decision.lower, decision.upper)
    found = Verdict(
        metric=metric.name,
        outcome=decision.outcome,
        old=0.0 if metric.is_absolute else _middle(metric, [pair.old for pair in used]),
        new=_middle(metric, [pair.new for pair in used]),
        change=change,
        lower=lower,
        upper=upper,
        tolerance=tolerance,
        decides=decides,
        is_of_cpu=decision.is_of_cpu,
    )
    return believed(metric, found)


def _middle(metric: Metric, runs: Sequence[Run]) -> float | None:
    """The median over the runs that have the metric; None if none has. Journals have no NaN."""
    values = [value for value in metric.values(runs) if isfinite(value)]
    return median(values) if values else None


def disagreements(verdicts: Sequence[Verdict], metrics: Metrics) -> tuple[SidesDisagree, ...]:
    """The metrics whose sides seem to contradict the change within the pairs, as they are shown in one line."""
    found = (_disagreement(metrics[verdict.metric], verdict) for verdict in verdicts)
    return tuple(one for one in found if one)


def _disagreement(metric: Metric, verdict: Verdict) -> SidesDisagree | None:
    is_ratio, old, new = metric.kind == "ratio", verdict.old, verdict.new
    if metric.is_absolute or verdict.change is None or old is None or new is None:
        return None
    if not isfinite(old + new) or (is_ratio and min(old, new) <= 0):
        return None
    sides = new / old if is_ratio else 100 * (new - old)
    apart, together = (log(sides), log(verdict.change)) if is_ratio else (sides, verdict.change)
    lower, upper = (-inf if verdict.lower is None else verdict.lower), (inf if verdict.upper is None else verdict.upper)
    is_explained = apart * together >= 0 and lower <= sides <= upper
    if is_explained or abs(apart - together) <= SHOWN_SHARE * limit(metric, verdict.tolerance):
        return None
    return SidesDisagree(metric=metric.name, sides=sides, paired=verdict.change)


def rules(
    tolerances: Mapping[str, float], metrics: Metrics, *, max_pairs: int, defaults: frozenset[str] = frozenset()
) -> dict[str, Rule]:
    """The rule of each metric, at the level of a single comparison.

    With a default tolerance a metric gives up if its own spread is too wide for it, and is cleared by what is surely no
    worse. Times are not: their spread is the machine's, and a machine that is too busy must not pass for one that found
    no change.
    """
    found = {}
    for name, tolerance in tolerances.items():
        metric = metrics[name]
        is_lenient = name in defaults and (metric.is_exact or metric.is_absolute)
        found[name] = Rule(
            tolerance=limit(metric, tolerance),
            max_pairs=max_pairs,
            gives_up=is_lenient,
            is_one_sided=is_lenient or metric.kind == "points",
        )
    return found


def takes_turns(metric: Metric, pair: Pair) -> bool:
    """Whether a metric is compared step by step in this pair."""
    return metric.name in STEP_TIMES and is_alternating(pair.old, pair.new)


def design_of(pairs: Sequence[Pair]) -> Literal["sequential", "alternating"]:
    """The design of all pairs; "sequential" if only some alternated."""
    return "alternating" if all(is_alternating(pair.old, pair.new) for pair in pairs) else "sequential"


def by_steps(rule: Rule, *, is_of_one_kind: bool = False) -> Rule:
    """The rule for step times whose steps alternated: their spread is assumed, and so may be too small.

    ``is_of_one_kind``: earlier runs differ by less than the tolerance, so that no kinds of processes can hide a change.
    """
    least = rule.min_pairs if is_of_one_kind else min(PAIRS_TO_CLEAR, rule.max_pairs)
    return replace(rule, widens=True, pairs_to_clear=least)


def level_by_steps(pairs: Sequence[Pair], alpha: float) -> float:
    """The level of wall time by itself: half of it wherever processor time may be a witness."""
    return max(alpha / 2, LEAST_ALPHA) if all(may_compute_alone(pair.old, pair.new) for pair in pairs) else alpha


def decide_by_steps(
    pairs: Sequence[Pair],
    rule: Rule,
    spread: float = ALTERNATING_SPREAD,
    *,
    is_of_one_kind: bool = False,
    decided: Decide = decide,
) -> Decision:
    """The decision on a step time whose steps alternated: by wall time, or by processor time where that is undecided.

    Either may err, so each has half of the level wherever processor time may become a witness, also while it is none:
    a level that depends on what pairs show would add up over the looks. ``spread`` is the expected one of their
    differences; ``decided`` applies the rule to them.
    """
    rule = replace(by_steps(rule, is_of_one_kind=is_of_one_kind), alpha=level_by_steps(pairs, rule.alpha))
    wall = decided([wall_ratio(pair.old, pair.new) for pair in pairs], spread, rule)
    if wall.outcome is not VerdictOutcome.INCONCLUSIVE or not all(cpu_is_witness(pair.old, pair.new) for pair in pairs):
        return wall
    cpu = decided([cpu_ratio(pair.old, pair.new) for pair in pairs], spread, rule)
    return wall if cpu.outcome is VerdictOutcome.INCONCLUSIVE else replace(cpu, is_of_cpu=True)


def stall(decisions: Mapping[str, Decision]) -> Literal["", "worse", "better"]:
    """Whether more or fewer steps are held up, where the two step times disagree; empty where they do not.

    The 10 % quantile does not see what delays fewer than 90 % of the steps: waiting for input, collecting garbage. They
    disagree where their verdicts do, and where both changed and their intervals do not meet.
    """
    if not set(STEP_TIMES) <= decisions.keys():
        # Batches of inference, or of two sizes, are judged by other metrics.
        return ""
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
