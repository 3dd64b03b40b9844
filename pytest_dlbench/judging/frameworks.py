"""Comparing frameworks: case by case with the run as the unit, and over cases with the data set as the unit.

A general claim is made only if the figures support it; it never replaces the ratio of each case.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from math import ceil, exp, inf, isfinite, log, sqrt

import numpy as np

from pytest_dlbench.judging import verdicts
from pytest_dlbench.judging.alpha_spending import LAST_LOOK, level_of_a_look
from pytest_dlbench.judging.intervals import Interval, Values, of_mean, unpaired
from pytest_dlbench.judging.metric import Metric
from pytest_dlbench.judging.pairs import ALTERNATING_SPREAD, Pair, assumed_spread, difference, takes_turns

ALPHA = 0.05
# Ranks over fewer data sets cannot distinguish four frameworks, whatever the figures: the smallest p value of an
# exact Wilcoxon test is 2^(1-D), times the six pairs.
RANKED_DATASETS = 8
# Rounding error of equal ratios after taking logarithms.
NO_SPREAD = 1e-9


@dataclass(frozen=True, slots=True, kw_only=True)
class FrameworkRatio:
    """The geometric mean over ``datasets`` data sets of one framework's time over another's.

    ``lower`` to ``upper`` is the 95 % interval of this pair alone; ``p_value`` is corrected for all pairs (Holm).
    """

    framework: str
    other: str
    ratio: float
    lower: float
    upper: float
    p_value: float
    datasets: int

    @property
    def is_supported(self) -> bool:
        """Whether the data supports that one of the two is faster."""
        return self.p_value < ALPHA


def of_runs(
    metric: Metric, values: Sequence[float], others: Sequence[float], alpha: float = verdicts.ALPHA
) -> Interval:
    """One framework's figure over another's in one case and session, from their runs, with alpha in either tail.

    It is a ratio, or for metrics in points a difference in percentage points.
    """
    is_ratio = metric.kind == "ratio"
    change = unpaired(
        np.log(others) if is_ratio else 100 * np.array(others),
        np.log(values) if is_ratio else 100 * np.array(values),
        run_sd=metric.run_sd,
        session_sd=metric.session_sd,
        is_robust=metric.is_robust,
        alpha=alpha,
    )
    return _in_unit(metric, change)


def of_pairs(metric: Metric, pairs: Sequence[Pair], alpha: float = verdicts.ALPHA) -> Interval:
    """The candidate's figure over the baseline's in one case, as in ``of_runs``, from the differences within pairs.

    The gate ends pairs as soon as they decide, which a plain interval would not survive: ``alpha`` is shared by as many
    looks as the longest pass has, and by as many passes as these pairs need at least. Raises ValueError for pairs whose
    figures cannot be compared, and for an alpha outside of the table of levels.
    """
    differences = np.array([difference(metric, pair) for pair in pairs])
    if not np.isfinite(differences).all():
        raise ValueError(f"expected comparable figures of {metric.name} in all pairs, got {list(differences)}")
    passes = ceil(len(pairs) / LAST_LOOK)
    alternated = all(takes_turns(metric, pair) for pair in pairs)
    change = of_mean(
        # They are above 0 where the candidate is worse.
        -differences if metric.better == "higher" else differences,
        run_sd=ALTERNATING_SPREAD if alternated else assumed_spread(metric),
        is_robust=metric.is_robust,
        alpha=level_of_a_look(alpha / passes, LAST_LOOK),
    )
    return _in_unit(metric, change)


def _in_unit(metric: Metric, change: Interval) -> Interval:
    """A difference of logarithms as a ratio; points are what they are."""
    if metric.kind != "ratio":
        return change
    return Interval(estimate=exp(change.estimate), lower=exp(change.lower), upper=exp(change.upper))


def compare_frameworks(times: Mapping[str, Mapping[str, float]]) -> tuple[FrameworkRatio, ...]:
    """Every pair of frameworks, on the data sets that both have; ``times`` are by framework and data set.

    With fewer than two of them the interval is unbounded. Raises ValueError for a time that is not above 0: it would
    silently remove its data set, perhaps a framework's worst case, from the comparison.
    """
    pairs = list(combinations(times, 2))
    found = [_of_logs(one, other, _log_ratios(times[one], times[other])) for one, other in pairs]
    corrected = holm([ratio.p_value for ratio in found])
    return tuple(replace(ratio, p_value=p_value) for ratio, p_value in zip(found, corrected, strict=True))


def holm(p_values: Sequence[float]) -> list[float]:
    """Holm's corrected p values, in the given order: they bound the chance of any false claim among all."""
    corrected, largest = [0.0] * len(p_values), 0.0
    for rank, place in enumerate(sorted(range(len(p_values)), key=p_values.__getitem__)):
        largest = max(largest, min(1.0, (len(p_values) - rank) * p_values[place]))
        corrected[place] = largest
    return corrected


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranking:
    """Mean ranks over the data sets, 1 for the fastest, for a critical-difference figure.

    ``p_value``: how often equal frameworks differ this much in rank (Friedman's test in Iman and Davenport's form).
    Mean ranks that differ by less than ``critical_difference`` are not significantly different (Nemenyi).
    """

    mean_ranks: Mapping[str, float]
    critical_difference: float
    p_value: float
    datasets: int


def rank(times: Mapping[str, Mapping[str, float]]) -> Ranking | None:
    """Ranks on the data sets that all frameworks have; None for fewer than 8 data sets or 3 frameworks."""
    shared = sorted(set.intersection(*(set(figures) for figures in times.values()))) if times else []
    if len(shared) < RANKED_DATASETS or len(times) < 3:
        return None
    from scipy import stats  # noqa: PLC0415 - as in intervals

    table = np.array([[_log(figures[dataset]) for dataset in shared] for figures in times.values()])
    ranks = stats.rankdata(table, axis=0).mean(axis=1)
    count, datasets = table.shape
    quantile = stats.studentized_range.ppf(1 - ALPHA, count, inf)
    return Ranking(
        mean_ranks=dict(zip(times, map(float, ranks), strict=True)),
        critical_difference=float(quantile / sqrt(2) * sqrt(count * (count + 1) / (6 * datasets))),
        p_value=iman_davenport(table),
        datasets=datasets,
    )


def iman_davenport(table: Values) -> float:
    """The p-value of Friedman's test in Iman and Davenport's form; a row for each framework, a column for each block.

    Iman and Davenport 1980, Communications in Statistics 9 (6).
    """
    from scipy import stats  # noqa: PLC0415 - as in intervals

    frameworks, datasets = table.shape
    if not np.ptp(table, axis=0).any():
        # All are equal on every data set: SciPy would divide by 0.
        return 1.0
    statistic = float(stats.friedmanchisquare(*table).statistic)
    most = datasets * (frameworks - 1)
    if statistic >= most:
        # All data sets agree on all ranks.
        return 0.0
    ratio = (datasets - 1) * statistic / (most - statistic)
    return float(stats.f.sf(ratio, frameworks - 1, (frameworks - 1) * (datasets - 1)))


def _of_logs(framework: str, other: str, logs: Values) -> FrameworkRatio:
    """The ratio of one pair, before the correction."""
    estimate = float(logs.mean()) if len(logs) else 0.0
    lower, upper, p_value = t_interval(logs)
    return FrameworkRatio(
        framework=framework,
        other=other,
        ratio=exp(estimate),
        lower=exp(lower),
        upper=exp(upper),
        p_value=p_value,
        datasets=len(logs),
    )


def t_interval(logs: Values) -> tuple[float, float, float]:
    """Bounds and p value; unbounded without any spread."""
    from scipy import stats  # noqa: PLC0415 - as in intervals

    if len(logs) < 2 or np.ptp(logs) < NO_SPREAD:
        return -inf, inf, 1.0
    found = stats.ttest_1samp(logs, 0.0)
    interval = found.confidence_interval(1 - ALPHA)
    return float(interval.low), float(interval.high), float(found.pvalue)


def _log_ratios(one: Mapping[str, float], other: Mapping[str, float]) -> Values:
    return np.array([_log(one[dataset]) - _log(other[dataset]) for dataset in sorted(one.keys() & other.keys())])


def _log(time: float) -> float:
    if not (time > 0 and isfinite(time)):
        raise ValueError(f"expected times above 0, got {time}")
    return log(time)
