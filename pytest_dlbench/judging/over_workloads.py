"""Frameworks over many workloads, in any metric: how large a difference is first, then what a test can show.

A workload is a network with its data set. Each of them counts once, whatever it costs; more runs of a workload say
better what its own figure is, and cannot replace further workloads.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import exp, isfinite, log
from statistics import median

import numpy as np

from pytest_dlbench.judging.frameworks import ALPHA, holm, t_interval
from pytest_dlbench.judging.intervals import Interval, Values
from pytest_dlbench.judging.metric import Metric

RESAMPLES = 4_000
SEED = 20_261_127

Runs = Mapping[str, Mapping[str, Sequence[float]]]
"""The figures of runs, by framework and workload."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """A framework against the one that is best on average, over the workloads that all frameworks have.

    ``change`` is the geometric mean of the ratios, for metrics in points the mean difference in percentage points, with
    the 95 % interval of Student's t over workloads. ``resampled`` is the same with the percentile interval of a
    hierarchical bootstrap: workloads with replacement, then the runs of each. ``worse``: in how many workloads its
    median run is the worse one. ``p_value`` is that of t, ``signed_rank`` of Wilcoxon's exact test; both are corrected
    for all ``pairs`` of frameworks (Holm).
    """

    framework: str
    best: str
    workloads: int
    worse: int
    change: Interval
    resampled: Interval
    p_value: float
    signed_rank: float
    pairs: int

    @property
    def is_supported(self) -> bool:
        """Whether the workloads show that it is worse in general."""
        return self.p_value < ALPHA


def compare(metric: Metric, runs: Runs) -> tuple[Comparison, ...]:
    """Every framework but the best, best first; none if fewer than two frameworks share two workloads.

    Raises ValueError for a figure without a logarithm where the metric is compared as a ratio.
    """
    shared = sorted(set.intersection(*map(set, runs.values()))) if runs else []
    if len(runs) < 2 or len(shared) < 2:
        return ()
    scores = {name: [_scores(metric, of[workload]) for workload in shared] for name, of in runs.items()}
    figures = {name: np.array([median(of_runs) for of_runs in of]) for name, of in scores.items()}
    names = sorted(figures, key=lambda name: float(figures[name].mean()), reverse=metric.better == "higher")
    # Each pair has the better framework second.
    pairs = [(other, better) for better, other in combinations(names, 2)]
    differences = {pair: figures[pair[0]] - figures[pair[1]] for pair in pairs}
    students = dict(zip(pairs, holm([t_interval(found)[2] for found in differences.values()]), strict=True))
    ranks = dict(zip(pairs, holm([signed_rank(found) for found in differences.values()]), strict=True))
    means = dict(zip(scores, _resampled(list(scores.values())), strict=True))
    best, sign = names[0], -1 if metric.better == "higher" else 1
    return tuple(
        Comparison(
            framework=name,
            best=best,
            workloads=len(shared),
            worse=int((sign * differences[name, best] > 0).sum()),
            change=_in_units(metric, _of_workloads(differences[name, best])),
            resampled=_in_units(metric, _of_resamples(differences[name, best], means[name] - means[best])),
            p_value=students[name, best],
            signed_rank=ranks[name, best],
            pairs=len(pairs),
        )
        for name in names[1:]
    )


def signed_rank(differences: Sequence[float] | Values) -> float:
    """The two-sided p-value of Wilcoxon's exact signed-rank test; differences of 0 do not count."""
    from scipy import stats  # noqa: PLC0415 - as in intervals

    known = [difference for difference in differences if difference]
    return float(stats.wilcoxon(known, method="exact").pvalue) if known else 1.0


def least_signed_rank(count: int, tests: int = 1) -> float:
    """The smallest p-value that the test can have with ``count`` differences, corrected for a number of ``tests``."""
    return min(1.0, tests * 2.0 ** (1 - count))


def _scores(metric: Metric, values: Sequence[float]) -> list[float]:
    """What is averaged over workloads: logarithms, or percentage points."""
    if metric.kind == "points":
        return [100 * value for value in values]
    if not all(value > 0 and isfinite(value) for value in values):
        raise ValueError(f"{metric.name}: expected figures above 0, got {list(values)}")
    return [log(value) for value in values]


def _resampled(scores: Sequence[Sequence[Sequence[float]]]) -> Values:
    """Means over resampled workloads of the medians of resampled runs: a row for each framework.

    The frameworks of a resample have the same workloads, each with its own runs.
    """
    random = np.random.default_rng(SEED)
    count = len(scores[0])
    chosen = random.integers(count, size=(count, RESAMPLES))
    medians = np.array([[_medians(of_runs, random) for of_runs in of_framework] for of_framework in scores])
    return np.asarray(np.take_along_axis(medians, chosen[np.newaxis], axis=1).mean(axis=1))


def _medians(of_runs: Sequence[float], random: np.random.Generator) -> Values:
    values = np.array(of_runs)
    return np.asarray(np.median(values[random.integers(len(values), size=(RESAMPLES, len(values)))], axis=1))


def _of_workloads(differences: Values) -> Interval:
    lower, upper, _ = t_interval(differences)
    return Interval(estimate=float(differences.mean()), lower=lower, upper=upper)


def _of_resamples(differences: Values, resamples: Values) -> Interval:
    lower, upper = np.quantile(resamples, (ALPHA / 2, 1 - ALPHA / 2))
    return Interval(estimate=float(differences.mean()), lower=float(lower), upper=float(upper))


def _in_units(metric: Metric, found: Interval) -> Interval:
    """A ratio, or percentage points."""
    if metric.kind == "points":
        return found
    return Interval(estimate=exp(found.estimate), lower=exp(found.lower), upper=exp(found.upper))
