"""Comparing frameworks: the data set is the unit, and a ranking is claimed only where the figures support it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from math import exp, inf, isfinite, log, sqrt

import numpy as np

from pytest_dlbench.judging.intervals import Values

ALPHA = 0.05
# Ranks over fewer data sets cannot tell four frameworks apart, whatever the figures are: the smallest p value of an
# exact Wilcoxon test is 2^(1-D), to be multiplied by the six pairs.
RANKED_DATASETS = 8
# What is left of equal ratios after their logarithms were taken.
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
        """Whether it may be said that one of the two is faster."""
        return self.p_value < ALPHA


def compare_frameworks(times: Mapping[str, Mapping[str, float]]) -> tuple[FrameworkRatio, ...]:
    """Every pair of frameworks, on the data sets that both have; ``times`` are by framework and data set.

    With fewer than two of them the interval is everything. Raises ValueError for a time that is not above 0: it would
    take its data set, and with it a framework's worst case, out of the comparison unseen.
    """
    pairs = list(combinations(times, 2))
    found = [_of_logs(one, other, _log_ratios(times[one], times[other])) for one, other in pairs]
    corrected = holm([ratio.p_value for ratio in found])
    return tuple(replace(ratio, p_value=p_value) for ratio, p_value in zip(found, corrected, strict=True))


def holm(p_values: Sequence[float]) -> list[float]:
    """Holm's corrected p values, in the order given: any false claim among all is no likelier than the level."""
    corrected, largest = [0.0] * len(p_values), 0.0
    for rank, place in enumerate(sorted(range(len(p_values)), key=p_values.__getitem__)):
        largest = max(largest, min(1.0, (len(p_values) - rank) * p_values[place]))
        corrected[place] = largest
    return corrected


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranking:
    """Mean ranks over the data sets, 1 for the fastest, for a critical-difference figure.

    ``p_value``: how often frameworks that are alike rank so differently (Friedman, in Iman and Davenport's form).
    Frameworks whose mean ranks differ by less than ``critical_difference`` are not told apart (Nemenyi).
    """

    mean_ranks: Mapping[str, float]
    critical_difference: float
    p_value: float
    datasets: int


def rank(times: Mapping[str, Mapping[str, float]]) -> Ranking | None:
    """The frameworks' ranks on the data sets that all have; None with fewer than 8 of them, or than 3 frameworks."""
    from scipy import stats  # noqa: PLC0415 - as in intervals

    shared = sorted(set.intersection(*(set(figures) for figures in times.values()))) if times else []
    if len(shared) < RANKED_DATASETS or len(times) < 3:
        return None
    table = np.array([[_log(figures[dataset]) for dataset in shared] for figures in times.values()])
    ranks = stats.rankdata(table, axis=0).mean(axis=1)
    count, datasets = table.shape
    quantile = stats.studentized_range.ppf(1 - ALPHA, count, inf)
    return Ranking(
        mean_ranks=dict(zip(times, map(float, ranks), strict=True)),
        critical_difference=float(quantile / sqrt(2) * sqrt(count * (count + 1) / (6 * datasets))),
        p_value=_iman_davenport(table),
        datasets=datasets,
    )


def _iman_davenport(table: Values) -> float:
    from scipy import stats  # noqa: PLC0415 - as in intervals

    frameworks, datasets = table.shape
    if not np.ptp(table, axis=0).any():
        # All are alike on every data set: SciPy divides by 0.
        return 1.0
    statistic = float(stats.friedmanchisquare(*table).statistic)
    most = datasets * (frameworks - 1)
    if statistic >= most:
        # All data sets agree on all ranks.
        return 0.0
    ratio = (datasets - 1) * statistic / (most - statistic)
    return float(stats.f.sf(ratio, frameworks - 1, (frameworks - 1) * (datasets - 1)))


def _of_logs(framework: str, other: str, logs: Values) -> FrameworkRatio:
    """Before the correction."""
    estimate = float(logs.mean()) if len(logs) else 0.0
    lower, upper, p_value = _t_interval(logs)
    return FrameworkRatio(
        framework=framework,
        other=other,
        ratio=exp(estimate),
        lower=exp(lower),
        upper=exp(upper),
        p_value=p_value,
        datasets=len(logs),
    )


def _t_interval(logs: Values) -> tuple[float, float, float]:
    """Without any spread nothing is known of it."""
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
